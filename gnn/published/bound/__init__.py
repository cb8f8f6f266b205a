"""What no placement can beat: an exact fill, and the latency of calls that never leave their cluster."""
