"""Runs and their figures: failures, latency, utilisation, convergence, and the load that they are taken at."""
