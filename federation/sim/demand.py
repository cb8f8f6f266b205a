"""Who calls the embedded world's functions, and what they send each other.

Each function has a mix of regions of its own, which follows the sun: a region calls most in its afternoon. Functions of
one team, and payloads of the edges between functions, are drawn from the world's seed apart from everything else, so
the world's calls stay what they are without a fleet.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from federation.pools.tick.value import Callers
from federation.sim.shape import REGION_SHARE
from prewarm.domain import FloatArray
from prewarm.settings import Call
from prewarm.sim.world_calls import Population

DAY_S = 86_400
PEAK_S = {"eu": 13 * 3600.0, "us": 19 * 3600.0}
"""When a region's callers are busiest, UTC."""
WAVE = 0.8
CONCENTRATION = 3.0
PAYLOAD_KIB = (1.0, 200.0)


class Demand:
    """The callers of a population, drawn once from a seed."""

    def __init__(self, seed: int, people: Population) -> None:
        rng = np.random.default_rng([seed, 4])
        self.regions = tuple(REGION_SHARE)
        share = np.array([REGION_SHARE[region] for region in self.regions])
        self._mix: FloatArray = rng.dirichlet(CONCENTRATION * share, len(people.keys))
        payload = np.exp(rng.uniform(math.log(PAYLOAD_KIB[0]), math.log(PAYLOAD_KIB[1]), len(people.graph)))
        self.graph: tuple[Call, ...] = tuple(
            replace(edge, payload_kib=round(float(kib), 1)) for edge, kib in zip(people.graph, payload, strict=True)
        )
        self._rows = {str(key): row for row, key in enumerate(people.keys)}

    def mix(self, now: float) -> FloatArray:
        """Share of each region in every function's calls at `now`, (n, R), rows sum to 1."""
        peak = np.array([PEAK_S[region] for region in self.regions])
        wave = 1 + WAVE * np.cos(2 * np.pi * (now - peak) / DAY_S)
        mixed = self._mix * wave[None, :]
        shares: FloatArray = mixed / mixed.sum(axis=1, keepdims=True)
        return shares

    def callers(self, calls_per_s: FloatArray, now: float) -> Callers:
        """Who calls now: `calls_per_s` (n,) in all, of which the service graph explains what its callers call."""
        told = Callers(self.regions, calls_per_s[:, None]).with_graph(self.graph, self._rows)
        explained = np.bincount(told.callee, weights=told.calls, minlength=len(calls_per_s))
        outside = np.maximum(calls_per_s - explained, 0.0)
        return replace(told, rate=outside[:, None] * self.mix(now))
