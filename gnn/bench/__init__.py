"""Benchmarks of the learned part, found by `prewarm bench`."""
