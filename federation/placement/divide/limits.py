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

    def part(self, rows: IntArray) -> Limits:
        """Some of the workloads."""
        return Limits(self.least[rows], self.most[rows], self.before[rows], self.tie[rows])

    def settled(self) -> Limits:
        """With no least above its most and nothing negative: room is never exceeded, whoever insists."""
        most = np.maximum(self.most, 0)
        return Limits(np.minimum(np.maximum(self.least, 0), most), most, np.maximum(self.before, 0), self.tie)


def spread_out(limits: Limits, value: FloatArray, clusters: IntArray, total: IntArray) -> Limits:
    """With at least one instance in each of the `clusters` (w,) best usable clusters of a row, those in use first.

    Instances that are bound already may leave fewer to spread: `total` (w,) is never exceeded for it.
    """
    if int(clusters.max(initial=0)) <= 1:
        return limits
    eligible = limits.most > 0
    free = np.maximum(total - limits.least.sum(axis=1), 0) + (limits.least > 0).sum(axis=1)
    clusters = np.where(clusters > 1, np.minimum(clusters, free), 0)
    chosen = first((~eligible, limits.least == 0, -np.round(value, ROUND), -limits.tie), clusters) & eligible
    return Limits(np.where(chosen, np.maximum(limits.least, 1), limits.least), limits.most, limits.before, limits.tie)


def ordered(keys: tuple[FloatArray | IntArray | BoolArray, ...]) -> IntArray:
    """Columns of each row in the order of the keys, the first of which counts most, (w, c)."""
    order: IntArray = np.lexsort(keys[::-1], axis=-1)
    return order


def by_row(order: IntArray) -> tuple[IntArray, IntArray]:
    """The index that puts columns in `order` row by row; assigning to it puts them back."""
    return np.arange(len(order))[:, None], order


def first(keys: tuple[FloatArray | IntArray | BoolArray, ...], number: IntArray) -> BoolArray:
    """Which columns are among the first `number` (w,) of their row, (w, c)."""
    order = ordered(keys)
    chosen = np.zeros(order.shape, dtype=np.bool_)
    chosen[by_row(order)] = np.arange(order.shape[1]) < number[:, None]
    return chosen
