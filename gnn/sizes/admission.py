"""Which requests to accept at all, when those to come may need more room than there is.

Only totals are looked at: V(t, r) is the most requests that can be expected to be accepted of t to come with r units
free, over the law of a request's need (benchmarks.md gives it; a service would forecast it). A request of need s is
worth its room where 1 + V(t, r - s) >= V(t, r) (the stochastic knapsack by dynamic programming, Papastavrou et al.,
1996). Declining a large request early is what a clairvoyant does, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from gnn.sizes.play import Offer, Policy
from gnn.sizes.world import LEAST_SERVICES, MOST_SERVICES, MOST_UNITS, REQUESTS, expected_need
from prewarm.domain import FloatArray, IntArray


def need_law() -> FloatArray:
    """Chance of each need of a request, from 0 units up."""
    units = np.zeros(MOST_UNITS + 1)
    units[1:] = 1.0 / MOST_UNITS
    law = np.zeros(MOST_SERVICES * MOST_UNITS + 1)
    of_tree = np.ones(1)
    for services in range(1, MOST_SERVICES + 1):
        of_tree = np.convolve(of_tree, units)
        if services >= LEAST_SERVICES:
            law[: len(of_tree)] += of_tree
    out: FloatArray = law / law.sum()
    return out


def values(law: FloatArray, requests: int, room: int) -> FloatArray:
    """V (requests + 1, room + 1)."""
    out = np.zeros((requests + 1, room + 1))
    for to_come in range(1, requests + 1):
        later = out[to_come - 1]
        for need in np.flatnonzero(law).tolist():
            taken = np.zeros(room + 1)
            taken[need:] = 1.0 + later[: room + 1 - need]
            out[to_come] += law[need] * np.maximum(later, taken)
    return out


@cache
def known_values() -> FloatArray:
    """V for the world of benchmarks.md."""
    return values(need_law(), REQUESTS, expected_need(REQUESTS))


@dataclass(frozen=True, slots=True)
class Admitting:
    """A policy that is only asked about requests that are worth their room. spared: units a cluster that will be left
    in holes, and so are not counted as room.
    """

    policy: Policy
    name: str
    spared: float = 0.0

    def place(self, offer: Offer) -> IntArray | None:
        """Clusters (k,), or None."""
        return self.policy.place(offer) if worth_it(offer, known_values(), self.spared) else None


def worth_it(offer: Offer, worth: FloatArray, spared: float) -> bool:
    """Whether accepting this request costs less than one request later; where only spared room is left, it does."""
    later, need = worth[offer.to_come], offer.request.need
    left = int(offer.free.sum()) - int(spared * len(offer.free))
    return need > left or bool(1.0 + later[left - need] >= later[max(left, 0)])
