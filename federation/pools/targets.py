"""Whole instances from shares: where a pool would like to stand, and how it gets there with the fewest changes.

Targets are rounded by largest remainders, so they sum to the total exactly. Growing fills what is below target, best
cluster first; shrinking takes what is above it, worst cluster first. A pool that grows therefore never lets an instance
go, one that shrinks never starts one, and one that stays the same is left alone.
"""

from __future__ import annotations

import numpy as np

from federation.pools.question import TIE, SeedArray
from prewarm.domain import BoolArray, FloatArray, IntArray

_A, _B, _C = (np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def ties(rows: SeedArray, columns: SeedArray) -> FloatArray:
    """A number in 0..1 for each pair of pool and cluster, (n, c), that depends on nothing but their names' seeds."""
    mixed = (rows * _A)[:, None] ^ (columns * _B)[None, :]
    mixed ^= mixed >> np.uint64(29)
    mixed *= _C
    return (mixed >> np.uint64(40)).astype(np.float64) / (1 << 24)


def shares(value: FloatArray, usable: BoolArray, temperature: FloatArray) -> FloatArray:
    """Wanted part of each usable cluster, (n, c), rows sum to 1 (0 where none is usable)."""
    above: FloatArray = np.where(usable, value, -np.inf)
    best = above.max(axis=1, keepdims=True)
    above -= np.where(np.isfinite(best), best, 0.0)
    heat = temperature[:, None]
    part = np.exp(np.divide(above, heat, out=above.copy(), where=heat > 0))
    if not heat.all():
        part = np.where(heat > 0, part, above == 0)
    part /= np.maximum(part.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return part


def round_exactly(total: IntArray, part: FloatArray, tie: FloatArray) -> IntArray:
    """`total` (n,) over the clusters in proportion to `part` (n, c) by largest remainders; rows sum to `total`.

    Rows of `part` sum to 1, or to 0 and then get nothing. Equal remainders go by `tie`, so over many pools no cluster
    is favoured (method of Hamilton).
    """
    ideal = total[:, None] * part
    floor = np.floor(ideal + TIE)
    extra = np.where(part.any(axis=1), total - floor.sum(axis=1).astype(np.int64), 0)
    rest = np.where(part > 0, ideal - floor + TIE * tie, -np.inf)
    rows = np.flatnonzero(extra > 0)
    whole: IntArray = floor.astype(np.int64)
    if len(rows):
        order = np.argsort(-rest[rows], axis=1, kind="stable")
        given = np.arange(part.shape[1])[None, :] < extra[rows, None]
        np.add.at(whole, (np.repeat(rows, given.sum(axis=1)), order[given]), 1)
    return whole


def in_order(amount: IntArray, available: IntArray, key: FloatArray) -> IntArray:
    """`amount` (n,) taken from `available` (n, c) in falling order of `key` (n, c); less where there is less."""
    order = np.argsort(-key, axis=1, kind="stable")
    offered = np.take_along_axis(available, order, axis=1)
    before = np.cumsum(offered, axis=1) - offered
    taken = np.clip(amount[:, None] - before, 0, offered)
    result = np.zeros_like(available)
    np.put_along_axis(result, order, taken, axis=1)
    return result
