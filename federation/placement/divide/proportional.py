"""Largest remainder (Hamilton's method) under limits.

Each cluster's quota is lambda w, held between its least and its most, with the lambda at which quotas sum to the total.
Whole parts are given first; what is left goes, one each, to the largest remainders. Among the answers that keep every
cluster within its quota rounded down or up, one that moves less is taken: a cluster that already has the further
instance is served before one with a larger remainder. That also keeps weights that tremble from moving anything. With
nothing running it is Hamilton's answer.
"""

from __future__ import annotations

import numpy as np

from federation.placement.divide.limits import ROUND, Limits, first
from prewarm.domain import FloatArray, IntArray

_DUST = 1e-9


def apportion(total: IntArray, weights: FloatArray, limits: Limits) -> IntArray:
    """Instances by row and cluster, (w, c); rows sum to (w,) `total` unless least or most forbid it.

    weights: (w, c), none negative; a cluster of weight 0 gets its least and no more.
    """
    useful = np.minimum(limits.most, np.maximum(limits.least, total[:, None]))
    most = np.where(weights > 0, useful, limits.least)
    placeable = np.clip(total, limits.least.sum(axis=1), most.sum(axis=1))
    quota = _quotas(placeable, weights, limits.least, most)
    whole = np.clip(np.floor(quota + _DUST).astype(np.int64), limits.least, most)
    left = placeable - whole.sum(axis=1)
    remainder = np.round(quota - whole, ROUND)
    full = whole >= most
    counts: IntArray = whole + (first((full, limits.before <= whole, -remainder, -limits.tie), left) & ~full)
    return counts


def _quotas(total: IntArray, weights: FloatArray, least: IntArray, most: IntArray) -> FloatArray:
    """clip(lambda w, least, most) with rows that sum to `total`.

    The sum grows with lambda by pieces: cluster i joins at least_i / w_i and leaves at most_i / w_i.
    """
    safe = np.where(weights > 0, weights, 1.0)
    bends = np.concatenate([least / safe, most / safe], axis=1)
    slopes = np.concatenate([np.where(weights > 0, weights, 0.0), np.where(weights > 0, -weights, 0.0)], axis=1)
    order = np.argsort(bends, axis=1, kind="stable")
    bends, slopes = np.take_along_axis(bends, order, axis=1), np.take_along_axis(slopes, order, axis=1)
    slope = np.cumsum(slopes, axis=1)
    gained = np.cumsum(slope[:, :-1] * np.diff(bends, axis=1), axis=1)
    reached = np.concatenate([np.zeros((len(total), 1)), gained], axis=1) + least.sum(axis=1)[:, None]
    last = bends.shape[1] - 1
    piece = np.clip((reached <= total[:, None] + _DUST).sum(axis=1) - 1, 0, last)[:, None]
    start, done, steep = (np.take_along_axis(values, piece, axis=1) for values in (bends, reached, slope))
    steep = np.where(steep > _DUST * weights.max(axis=1, initial=1.0)[:, None], steep, np.inf)
    level = start + np.maximum(total[:, None] - done, 0.0) / steep
    quotas: FloatArray = np.clip(np.where(weights > 0, level * weights, least), least, most)
    return quotas
