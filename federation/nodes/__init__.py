"""Scores of single nodes under a forecast mix of work: fragmentation, future fill, and which GPU a share should take.

Everything but `kernels` is numpy alone, so that a service may import it. `kernels` compiles with numba and is for
simulations and benchmarks; tests hold the two to the same answers.
"""
