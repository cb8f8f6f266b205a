"""The demand of a function taken apart by where its calls come from.

If each of N needed instances serves callers of one place with chance s, independently, the place needs a binomially
thinned N. With p_k = P(N >= k) its own chances are

    P(N_s >= j) = sum over k >= j of p_k * s * C(k - 1, j - 1) * s^(j - 1) * (1 - s)^(k - j)

(raising N from k - 1 to k lifts the thinned count above j - 1 just when it stood there and the new one is of the
place). Each place is then a function of its own to `prewarm.policy.pool`, whose least expected cost for one step is the
sum over levels of min(cold * p, idle * (1 - p)). Splitting never makes that sum smaller: this is what pooling saves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from prewarm.domain import Float32Array, FloatArray, Int32Array, IntArray
from prewarm.policy.pool import Levels

EXACT_UP_TO = 64
"""Functions with more levels are split in proportion (N_s >= j when N >= j / s); chance then plays a small part."""
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class LevelColumns:
    """P(N >= level) in columns, sorted by row, then level."""

    row: Int32Array
    level: Int32Array
    p: Float32Array


def thinned(levels: Levels, share: FloatArray | float) -> LevelColumns:
    """The same pairs of (function, level) with the chances of a part of each function's calls.

    share: in 0..1, (n,) or one number for all, which is cheaper.
    """
    part = np.asarray(share, dtype=np.float64)
    row, p = np.asarray(levels.row), np.asarray(levels.p, dtype=np.float64)
    result = np.zeros(len(p))
    starts = np.flatnonzero(np.r_[True, row[1:] != row[:-1]]) if len(row) else np.zeros(0, dtype=np.int64)
    lengths = np.diff(np.r_[starts, len(row)])
    for width, members in _by_width(lengths):
        first, count = starts[members], lengths[members]
        at = first[:, None] + np.minimum(np.arange(width), count[:, None] - 1)
        inside = np.arange(width) < count[:, None]
        chances = np.where(inside, p[at], 0.0)
        own = part if part.ndim == 0 else part[row[first]]
        split = _binomial(chances, own) if width <= EXACT_UP_TO else _proportional(chances, own)
        result[at[inside]] = split[inside]
    return LevelColumns(row, np.asarray(levels.level), result.astype(np.float32))


def rows_of(levels: Levels, rows: IntArray, size: int) -> LevelColumns:
    """The pairs of some of the `size` functions."""
    chosen = np.zeros(size, dtype=np.bool_)
    chosen[rows] = True
    row = np.asarray(levels.row)
    kept = chosen[row]
    return LevelColumns(row[kept], np.asarray(levels.level)[kept], np.asarray(levels.p)[kept])


def by_place(levels: Levels, shares: FloatArray) -> LevelColumns:
    """Chances of every place, shares: (n, c): function i in place k becomes row i * c + k; without a share, none."""
    places = shares.shape[1]
    row, level, p = np.asarray(levels.row), np.asarray(levels.level), np.asarray(levels.p)
    parts = []
    for place in range(places):
        some = shares[row, place] > 0
        split = thinned(LevelColumns(row[some], level[some], p[some]), shares[:, place])
        parts.append((split.row.astype(np.int32) * places + place, split.level, split.p))
    rows = np.concatenate([part[0] for part in parts]).astype(np.int32)
    heights = np.concatenate([part[1] for part in parts]).astype(np.int32)
    order = np.lexsort((heights, rows))
    return LevelColumns(rows[order], heights[order], np.concatenate([part[2] for part in parts])[order])


def least_cost(levels: Levels, cold: FloatArray, idle: FloatArray) -> FloatArray:
    """Expected cost of the best number of instances for one step, (n,); cold, idle: (n,) prices as in the policy."""
    row, p = np.asarray(levels.row), np.asarray(levels.p, dtype=np.float64)
    each = np.minimum(cold[row] * p, idle[row] * (1.0 - p))
    cost: FloatArray = np.bincount(row, weights=each, minlength=len(cold)).astype(np.float64)
    return cost


def _by_width(lengths: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Groups of functions of about as many levels, small enough for a table of levels by levels each."""
    width = np.exp2(np.ceil(np.log2(np.maximum(lengths, 1)))).astype(np.int64)
    for each in np.unique(width):
        members = np.flatnonzero(width == each)
        size = max(1, _CHUNK // int(each) ** (2 if each <= EXACT_UP_TO else 1))
        for first in range(0, len(members), size):
            yield int(each), members[first : first + size]


def _binomial(chances: FloatArray, share: FloatArray) -> FloatArray:
    """chances: (g, K); share: (g,) or one for all."""
    width = chances.shape[1]
    if share.ndim == 0:
        split: FloatArray = chances @ _of_one_share(width, float(share))
    else:
        split = np.einsum("gk,gkj->gj", chances, _weights(width, share))
    return np.minimum(split, 1.0)


@lru_cache(maxsize=128)
def _of_one_share(width: int, share: float) -> FloatArray:
    return _weights(width, np.asarray(share))


@lru_cache(maxsize=16)
def _ways(width: int) -> FloatArray:
    """C(k - 1, j - 1) for k, j in 1..width, 0 above the diagonal."""
    return np.array([[math.comb(k, j) for j in range(width)] for k in range(width)], dtype=np.float64)


def _weights(width: int, share: FloatArray) -> FloatArray:
    """s C(k - 1, j - 1) s^(j - 1) (1 - s)^(k - j) for k, j in 1..width, (..., width, width)."""
    k, j = np.arange(1, width + 1)[:, None], np.arange(1, width + 1)[None, :]
    ways = _ways(width)
    taken = share[..., None] ** np.arange(1, width + 1)
    missed = (1.0 - share)[..., None] ** np.arange(width)
    weights: FloatArray = ways * taken[..., None, :] * missed[..., np.maximum(k - j, 0)]
    return weights


def _proportional(chances: FloatArray, share: FloatArray) -> FloatArray:
    width = chances.shape[1]
    with np.errstate(divide="ignore"):
        needed = np.broadcast_to(np.ceil(np.arange(1, width + 1) / share[..., None] - 1e-9), chances.shape)
    at = np.clip(needed, 1, width).astype(np.int64) - 1
    return np.where(needed <= width, np.take_along_axis(chances, at, axis=1), 0.0)
