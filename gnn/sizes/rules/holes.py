"""What a hole costs: room that is left in a cluster and is too small for most services.

The optimum of each request by itself leaves one or two units here and there; with 128 clusters of 13 units these are 80
units at the end, while requests with a service of five find no place. So a placement pays for the holes that it makes
and is paid for those that it fills. Holes may cost less while most room is whole: scarcity is the share of free room
that is in holes already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.sizes.world import MOST_UNITS
from prewarm.domain import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Holes:
    """cost_ms: of a cluster with 1, 2, ... units left; more than are listed cost nothing. power: of the scarcity."""

    cost_ms: tuple[float, ...]
    power: float

    def cost(self, free: IntArray) -> FloatArray:
        """What a cluster costs by units left, ms, as many as the most of `free` (n,) and those listed."""
        out = np.zeros(max(int(free.max(initial=0)), len(self.cost_ms)) + 1)
        out[1 : len(self.cost_ms) + 1] = self.cost_ms
        weighed: FloatArray = scarcity(free) ** self.power * out
        return weighed

    def price(self, free: IntArray, most: int) -> FloatArray:
        """Price (n, most + 1) in ms of taking so many units of each cluster's free room (n,)."""
        cost = self.cost(free)
        left = np.maximum(free[:, None] - np.arange(most + 1)[None, :], 0)
        out: FloatArray = cost[left] - cost[free][:, None]
        return out


def scarcity(free: IntArray) -> float:
    """Share of the free room (n,) that is in clusters without room for the largest service, 0..1."""
    return float(free[free < MOST_UNITS].sum()) / max(float(free.sum()), 1.0)
