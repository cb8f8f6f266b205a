"""What is true of one run whatever the policy does: the fleet, the demand and every draw."""
