"""The global cold-start model: P(N >= k) for the coming minutes, one learned model for all functions and levels.

This package opens without numba and lightgbm; the modules that need them (`features`, `boosted`, `train`) are imported
by workers, the replay and the training command only, never by the service process.
"""
