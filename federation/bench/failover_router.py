"""The router of the failover world: what became of every request, from the moments of all instances.

Requests of an app come as a Poisson stream. The router sends each to a cluster by the weights of the app's placement,
among those clusters in which it believes an instance to be ready, and there to any such instance. It learns of
everything (ready, told to stop, gone, new weights) with a lag. A request is lost where the router knows of nobody, or
where who it picks is gone already. Between two moments nothing changes, so a stretch is drawn at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from federation.bench.failover_world import Instance
from prewarm.domain import BoolArray, FloatArray

LAG_S = 1.0
CALLS_PER_S = 5.0
Weights = Sequence[tuple[float, Mapping[str, float]]]


@dataclass(frozen=True, slots=True)
class Served:
    """Requests of one app: when each came, (m,), and whether it was lost, (m,)."""

    at: FloatArray
    lost: BoolArray

    def lost_between(self, start: float, end: float) -> int:
        """Requests lost in [start, end)."""
        return int((self.lost & (self.at >= start) & (self.at < end)).sum())


def route(instances: Sequence[Instance], weights: Weights, *, until: float, rng: np.random.Generator) -> Served:
    """One app's requests from 0 to `until`; `weights`: (since, by cluster), in order, the first from the start on."""
    at = np.sort(rng.uniform(0.0, until, rng.poisson(CALLS_PER_S * until)))
    lost = np.ones(len(at), dtype=np.bool_)
    edges = _edges(instances, weights, until)
    bounds = np.searchsorted(at, edges)
    for begin, first, last in zip(edges[:-1], bounds[:-1], bounds[1:], strict=True):
        known = [one for one in instances if one.ready + LAG_S <= begin < min(one.stopped, one.gone) + LAG_S]
        if last > first and known:
            chance = _chances(known, _weights_at(weights, begin - LAG_S))
            picked = rng.choice(len(known), last - first, p=chance)
            gone = np.array([one.gone <= begin for one in known], dtype=np.bool_)
            lost[first:last] = gone[picked]
    return Served(at, lost)


def _edges(instances: Sequence[Instance], weights: Weights, until: float) -> FloatArray:
    """All moments at which something changes for the router or for the truth."""
    moments = [0.0, until]
    for one in instances:
        moments += [one.ready + LAG_S, one.stopped + LAG_S, one.gone + LAG_S, one.gone]
    moments += [since + LAG_S for since, _ in weights]
    inside = [moment for moment in moments if 0.0 <= moment <= until]
    return np.unique(np.array(inside, dtype=np.float64))


def _chances(known: Sequence[Instance], weights: Mapping[str, float]) -> FloatArray:
    """Chance of each known instance: its cluster's weight, shared with the others there; alike where none has one."""
    count = {one.cluster: sum(other.cluster == one.cluster for other in known) for one in known}
    chance = np.array([weights.get(one.cluster, 0.0) / count[one.cluster] for one in known], dtype=np.float64)
    total = chance.sum()
    return chance / total if total > 0 else np.full(len(known), 1.0 / len(known))


def _weights_at(weights: Weights, at: float) -> Mapping[str, float]:
    found = weights[0][1]
    for since, given in weights:
        if since <= at:
            found = given
    return found
