"""What all policies are told of the coming minute: one forecast, the same for everybody."""
