"""Simulated clusters: what the service's fleet runs on where there is none, and what benchmarks place over."""
