"""The limits of a division, a row a workload and a column a cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, FloatArray, IntArray

ROUND = 9
"""Digits at which two scores, shares or remainders count as equal; below that floats differ by how they were summed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """least, most: (w, c) instances in each cluster, least <= most; `most` includes what runs there already.

    before: (w, c) what runs there. tie: (w, c) who goes first among equals, higher first.
    """

    least: IntArray
    most: IntArray
    before: IntArray
    tie: FloatArray

    def settled(self) -> Limits:
        """With no least above its most and nothing negative: room is never exceeded, whoever insists."""
        most = np.maximum(self.most, 0)
        return Limits(np.clip(self.least, 0, most), most, np.maximum(self.before, 0), self.tie)


def spread_out(limits: Limits, value: FloatArray, clusters: IntArray, total: IntArray) -> Limits:
    """With at least one instance in each of the `clusters` (w,) best usable clusters of a row, those in use first.

    Instances that are bound already may leave fewer to spread: `total` (w,) is never exceeded for it.
    """
    if int(clusters.max(initial=0)) <= 1:
        return limits
    eligible = limits.most > 0
    free = np.maximum(total - limits.least.sum(axis=1), 0) + (limits.least > 0).sum(axis=1)
    clusters = np.where(clusters > 1, np.minimum(clusters, free), 0)
    first = (~eligible, limits.least == 0, -np.round(value, ROUND), -limits.tie)
    chosen = (rank(first) < clusters[:, None]) & eligible
    return Limits(np.where(chosen, np.maximum(limits.least, 1), limits.least), limits.most, limits.before, limits.tie)


def rank(keys: tuple[FloatArray | IntArray | BoolArray, ...]) -> IntArray:
    """Place of each column in its row, 0 for the one that sorts first; the first key counts most."""
    order = np.lexsort(keys[::-1], axis=-1)
    places = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(order.shape[-1]), order.shape), axis=-1)
    return places
