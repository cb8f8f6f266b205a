"""Benchmarks of the fleet side."""
