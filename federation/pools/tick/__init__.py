"""From one tick's decisions to a plan by cluster: what the service runs against real and simulated fleets alike."""
