"""From quantiles to the chance of needing k: what sizing asks, read off a distribution function that is linear between.

A count N is rounded from a rate X, so P(N >= k) is P(X > k - 1/2). Below the lowest quantile the line falls to nothing
at zero, above the highest it runs out over as much again as lies between median and highest.
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.batch import COUNTS, Levels


def chances_at_least(quantiles: FloatArray, levels: Levels, counts: int = COUNTS) -> FloatArray:
    """P(N >= k) for k = 1..counts, (..., counts), from rising quantiles (..., L) at rising levels in (0, 1)."""
    inner = np.asarray(levels, dtype=np.float64)
    shape = quantiles.shape[:-1]
    flat = quantiles.reshape(-1, quantiles.shape[-1])
    top = flat[:, -1] + np.maximum(flat[:, -1] - flat[:, len(inner) // 2], 1e-9)
    places = np.concatenate([np.zeros((len(flat), 1)), flat, top[:, None]], axis=1)
    reached = np.concatenate([[0.0], inner, [1.0]])
    bars: FloatArray = np.arange(1, counts + 1).astype(np.float64) - 0.5
    below = np.stack([_share_below(row, reached, bars) for row in places]) if len(flat) else np.zeros((0, counts))
    return (1.0 - below).reshape(*shape, counts)


def _share_below(places: FloatArray, reached: FloatArray, bars: FloatArray) -> FloatArray:
    """The distribution function at `bars`; where quantiles coincide the highest level counts."""
    last = np.searchsorted(places, bars, side="right") - 1
    following = np.minimum(last + 1, len(places) - 1)
    width = places[following] - places[last]
    share = np.where(width > 0, (bars - places[last]) / np.where(width > 0, width, 1.0), 0.0)
    below: FloatArray = reached[last] + share * (reached[following] - reached[last])
    return below
