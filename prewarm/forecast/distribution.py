"""From a few numbers to a distribution: the three shapes that the per-function forecasters need.

Rare demand is a chance of anything times a size that is seen when there is something; dense demand is a mean with the
spread of past errors; a rate from a profile is a count around its mean (negative binomial, Poisson when the spread is
no wider). Each gives the quantiles and P(N >= k) for k = 1..COUNTS in one vectorised step.
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.batch import COUNTS, Levels

SIZES_KEPT = 32  # newest non-zero counts that a size distribution is read from


def rare_demand(chance: FloatArray, sizes: FloatArray, levels: Levels) -> tuple[FloatArray, FloatArray]:
    """Quantiles (n, H, L) and P(N >= k) (n, H, K) of zero with 1 - chance, else one of the sizes.

    chance: (n, H) in 0..1. sizes: (n, S) non-zero counts, NaN where fewer were seen; none seen counts as size 1.
    """
    ordered, seen = _ordered(sizes)
    wanted = np.asarray(levels, dtype=np.float64)
    safe = np.maximum(chance, 1e-300)[..., None]
    inside = (wanted - (1.0 - chance[..., None])) / safe  # level within the sizes; negative means zero
    place = np.ceil(np.clip(inside, 0.0, 1.0) * seen[:, None, None]).astype(np.int64) - 1
    picked = np.take_along_axis(ordered[:, None, :], np.clip(place, 0, ordered.shape[1] - 1), axis=2)
    quantiles = np.where((inside > 0) & (chance[..., None] > 0), picked, 0.0)
    known = np.isfinite(ordered)
    bigger = np.stack([((ordered >= k) & known).sum(axis=1) / seen for k in range(1, COUNTS + 1)], axis=-1)
    return quantiles, chance[..., None] * bigger[:, None, :]


def _ordered(sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sizes in rising order, NaN last, and how many there are (a function without any has one of size 1)."""
    filled = sizes.copy() if sizes.shape[1] else np.full((sizes.shape[0], 1), np.nan)
    nothing = np.isnan(filled).all(axis=1)
    filled[nothing, 0] = 1.0
    ordered = np.sort(filled, axis=1)
    seen = (~np.isnan(ordered)).sum(axis=1).astype(np.float64)
    return np.nan_to_num(ordered, nan=np.inf), seen


def newest_sizes(values: FloatArray, kept: int = SIZES_KEPT) -> FloatArray:
    """The newest non-zero counts of each function, (n, kept), NaN where there are fewer."""
    n = values.shape[0]
    out = np.full((n, kept), np.nan)
    row, column = np.nonzero(np.nan_to_num(values) > 0)
    if not len(row):
        return out
    ends = np.searchsorted(row, np.arange(n), side="right")
    rank = ends[row] - 1 - np.arange(len(row))  # 0 is the newest
    keep = rank < kept
    out[row[keep], rank[keep]] = values[row[keep], column[keep]]
    return out


def around_mean(
    mean: FloatArray, errors: FloatArray, widen: FloatArray, levels: Levels
) -> tuple[FloatArray, FloatArray]:
    """Quantiles and P(N >= k) of mean plus past errors, the errors stretched by `widen` (n or 1, H) per step.

    errors: (n, S) of actual minus forecast, NaN where fewer; none at all counts as no error. N is rounded up from a
    rate, so P(N >= k) is the share of outcomes above k - 1 + 1/2.
    """
    filled = errors.copy() if errors.shape[1] else np.zeros((errors.shape[0], 1))
    filled[np.isnan(filled).all(axis=1), 0] = 0.0
    at_level = _row_quantiles(filled, np.asarray(levels, dtype=np.float64))
    quantiles = mean[..., None] + widen[..., None] * at_level[:, None, :]
    grid = _row_quantiles(filled, (np.arange(40) + 0.5) / 40)  # stands in for a sample
    chances = np.empty((*mean.shape, COUNTS))
    for k in range(COUNTS):
        bar = (k + 0.5 - mean) / np.maximum(widen, 1e-12)
        chances[..., k] = (grid[:, None, :] > bar[..., None]).mean(axis=2)
    return quantiles, chances


def _row_quantiles(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Quantiles (n, L) of the known values of each row."""
    if not values.shape[0]:
        return np.zeros((0, len(levels)))
    found: FloatArray = np.nanquantile(values, levels, axis=1).T
    return found


def counts_around(mean: FloatArray, dispersion: FloatArray, levels: Levels) -> tuple[FloatArray, FloatArray]:
    """Quantiles and P(N >= k) of a count with the given mean (n, H) and variance `dispersion` x mean (n, 1).

    Negative binomial; up to a mean of 30 exactly from its distribution function, above it by the gamma of equal mean
    and variance.
    """
    from scipy import special

    rate = np.maximum(mean, 1e-12)
    spread = np.maximum(np.broadcast_to(dispersion, mean.shape), 1.0 + 1e-6)
    successes, p = rate / (spread - 1.0), 1.0 / spread
    # I_p(r, k + 1) is the distribution function at k (Abramowitz & Stegun 26.5.24)
    chances = np.stack([1.0 - special.betainc(successes, float(k), p) for k in range(1, COUNTS + 1)], axis=-1)
    wanted = np.asarray(levels, dtype=np.float64)
    quantiles = special.gammaincinv((rate / spread)[..., None], wanted) * spread[..., None]
    small = np.nonzero((rate < 30) & (rate * spread < 200))
    if len(small[0]):
        quantiles[small] = _small_quantiles(successes[small], p[small], wanted)
    quantiles[mean <= 0] = 0.0
    chances[mean <= 0] = 0.0
    return quantiles, chances


def _small_quantiles(successes: FloatArray, p: FloatArray, wanted: FloatArray) -> FloatArray:
    """Smallest k with P(N <= k) >= level, by doubling upwards and then halving."""
    from scipy import special

    r, chance = successes[:, None], p[:, None]
    high = np.ones((len(successes), len(wanted)))
    for _ in range(12):
        short = special.betainc(r, high + 1.0, chance) < wanted
        if not short.any():
            break
        high = np.where(short, high * 2.0, high)
    low = np.full_like(high, -1.0)
    for _ in range(13):
        middle = np.floor((low + high) / 2.0)
        enough = (special.betainc(r, middle + 1.0, chance) >= wanted) & (middle >= 0)
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle, high - 1.0))
    return np.maximum(high, 0.0)
