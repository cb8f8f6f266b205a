"""Scores of single nodes under a forecast mix of work: fragmentation, future fill, and which GPU a share should take.

Everything but `kernels` and `judging` is numpy alone, so that a service may import it. Those two compile with numba and
are for simulations, benchmarks and the process that foresees; tests hold both ways to the same answers.
"""
