"""Dividing: the one entry for placement (one workload) and for planning pools (thousands).

Both run the same arrays, so a row of many is the answer that it would have had alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from federation.placement.divide.limits import Limits, spread_out
from federation.placement.divide.preferred import best_first
from federation.placement.divide.proportional import apportion
from federation.placement.divide.ties import ties_of
from prewarm.domain import BoolArray, FloatArray, IntArray

_COLDEST = -20.0
"""Logarithm of the smallest share beside the best one's 1; sums over the clusters are exact to 1e-9."""


@dataclass(frozen=True, slots=True)
class Wish:
    """How w workloads would like to be divided over c clusters.

    total: (w,). scores: (w, c). temperature: (w,) 0 for best first with overflow, above it shares of
    exp(score / temperature). stay: (w, c) or (w, 1) what not moving is worth to an instance, in score. clusters:
    (w,) fewest clusters to spread over.
    """

    total: IntArray
    scores: FloatArray
    temperature: FloatArray
    stay: FloatArray
    clusters: IntArray

    def part(self, rows: IntArray) -> Wish:
        """Some of the workloads."""
        return Wish(self.total[rows], self.scores[rows], self.temperature[rows], self.stay[rows], self.clusters[rows])


def divide_many(wish: Wish, limits: Limits) -> IntArray:
    """Instances by workload and cluster, (w, c): rows sum to their total, less what no room is left for.

    Never above `most`; `least` is kept even where it sums to more than the total.
    """
    if not limits.most.size:
        return np.zeros(limits.most.shape, dtype=np.int64)
    limits = limits.settled()
    usable = limits.most > 0
    value = wish.scores + wish.stay * (limits.before > 0)
    limits = spread_out(limits, value, wish.clusters, wish.total)
    even = wish.temperature > 0
    if not even.any():
        return best_first(wish.total, wish.scores, limits, wish.stay)
    if even.all():
        return _shared(wish, limits, usable)
    counts = np.zeros(limits.most.shape, dtype=np.int64)
    for rows in (np.flatnonzero(even), np.flatnonzero(~even)):
        counts[rows] = divide_many(wish.part(rows), limits.part(rows))
    return counts


def _shared(wish: Wish, limits: Limits, usable: BoolArray) -> IntArray:
    """By shares of the usable clusters; what those cannot take whose share can be told from nothing goes, by the same
    rule, to the others.
    """
    counts = apportion(wish.total, shares_of(wish.scores, wish.temperature, usable), limits)
    further = usable & (counts < limits.most)
    rows = np.flatnonzero((counts.sum(axis=1) < wish.total) & further.any(axis=1))
    if rows.size:
        rest = limits.part(rows)
        most = np.where(further[rows], rest.most, counts[rows])
        rest = Limits(counts[rows], most, rest.before, rest.tie)
        counts[rows] = _shared(wish.part(rows), rest, further[rows])
    return counts


def divide(
    total: int, weights: Sequence[float], room: Sequence[int] | None = None, *, key: str, names: Sequence[str]
) -> IntArray:
    """`total` in proportion to `weights` within `room`, by largest remainder, (c,); weights of 0 get nothing.

    Where all weights are 0 nothing is divided and everything is unplaced: no weight is no permission.
    """
    most = np.full((1, len(weights)), max(total, 0)) if room is None else np.asarray([room], dtype=np.int64)
    zero = np.zeros_like(most)
    limits = Limits(zero, most, zero, ties_of([key], names)).settled()
    counts: IntArray = apportion(np.array([total]), np.asarray([weights], dtype=np.float64), limits)[0]
    return counts


def shares_of(scores: FloatArray, temperature: FloatArray, usable: BoolArray) -> FloatArray:
    """exp(score / temperature) relative to the best usable cluster, (w, c); 0 where nothing may go, and where it would
    be less than floats can tell beside the best.
    """
    best = np.where(usable, scores, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
    with np.errstate(over="ignore"):
        heat = np.where(np.isfinite(best), (scores - best) / temperature[:, None], 0.0)
    shares: FloatArray = np.where(usable & (heat > _COLDEST), np.exp(np.clip(heat, _COLDEST, 0.0)), 0.0)
    return shares
