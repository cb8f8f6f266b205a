"""Scores of single nodes under a forecast mix of work: fragmentation, future fill, and which GPU a share should take.

Everything that is exported here is numpy alone, so that a service may import it. `kernels` compiles with numba and is
for simulations and benchmarks; tests hold the two to the same answers.
"""

from federation.nodes.change import best_gpu, fragmentation_change, future_fill_change
from federation.nodes.fill import FutureFill
from federation.nodes.mix import Mix
from federation.nodes.offers import Offers, draw_offers, expected_offers

__all__ = [
    "FutureFill",
    "Mix",
    "Offers",
    "best_gpu",
    "draw_offers",
    "expected_offers",
    "fragmentation_change",
    "future_fill_change",
]
