"""Warm pools over the fleet: how many instances of each function each cluster keeps, planned all at once."""
