"""How good a forecast was: each measure a pure function over arrays, and one aggregate that takes them as they come.

Pinball loss judges quantiles, coverage their honesty, absolute error the mean, and the newsvendor cost what it is all
for: the cold starts and idle minutes that a pool sized by the forecast would have caused. Unknown actuals (NaN) are
left out of all of them, never counted as right or wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import COLD_COST, FloatArray
from prewarm.forecast.batch import Levels


@dataclass(frozen=True, slots=True)
class Costs:
    """Price of one instance missing and of one instance idle, for one step."""

    cold: float = COLD_COST
    idle: float = 0.102  # 60 s of 170 MB at RUM's price

    @property
    def level(self) -> float:
        """The quantile that is cheapest to provision (newsvendor)."""
        return self.cold / (self.cold + self.idle)


def pinball(actual: FloatArray, quantiles: FloatArray, levels: Levels) -> FloatArray:
    """Pinball loss (...,) averaged over the levels; actual (...,), quantiles (..., L)."""
    wanted = np.asarray(levels, dtype=np.float64)
    miss = actual[..., None] - quantiles
    loss: FloatArray = np.maximum(wanted * miss, (wanted - 1.0) * miss).mean(axis=-1)
    return loss


def absolute_error(actual: FloatArray, mean: FloatArray) -> FloatArray:
    """|actual - mean|."""
    return np.abs(actual - mean)


def covered(actual: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """1 where low <= actual <= high, else 0; NaN where the actual is unknown."""
    inside = (actual >= low) & (actual <= high)
    return np.where(np.isnan(actual), np.nan, inside.astype(np.float64))


def newsvendor(actual: FloatArray, kept: FloatArray, costs: Costs) -> FloatArray:
    """Cost of having kept `kept` instances, rounded up to whole ones, when `actual` were needed."""
    whole = np.ceil(kept - 1e-9)
    needed = np.ceil(actual - 1e-9)
    cost: FloatArray = costs.cold * np.maximum(needed - whole, 0.0) + costs.idle * np.maximum(whole - needed, 0.0)
    return cost


@dataclass(frozen=True, slots=True)
class Scores:
    """Sums per function (n,) over the steps scored so far; add more with `plus`, read means by the properties."""

    steps: FloatArray
    pinball_sum: FloatArray
    error_sum: FloatArray
    covered_sum: FloatArray
    cost_sum: FloatArray

    @classmethod
    def none(cls, n: int) -> Scores:
        """Nothing scored yet for n functions."""
        return cls(*(np.zeros(n) for _ in range(5)))

    def plus(self, other: Scores) -> Scores:
        """Both together."""
        return Scores(
            self.steps + other.steps,
            self.pinball_sum + other.pinball_sum,
            self.error_sum + other.error_sum,
            self.covered_sum + other.covered_sum,
            self.cost_sum + other.cost_sum,
        )

    def _mean(self, total: FloatArray) -> FloatArray:
        return np.where(self.steps > 0, total / np.maximum(self.steps, 1.0), np.nan)

    @property
    def pinball(self) -> FloatArray:
        """Mean pinball loss per function; NaN where nothing was scored."""
        return self._mean(self.pinball_sum)

    @property
    def mae(self) -> FloatArray:
        """Mean absolute error per function; NaN where nothing was scored."""
        return self._mean(self.error_sum)

    @property
    def coverage(self) -> FloatArray:
        """Share of actuals between the outermost levels, per function; NaN where nothing was scored."""
        return self._mean(self.covered_sum)

    @property
    def cost(self) -> FloatArray:
        """Mean newsvendor cost per function and step; NaN where nothing was scored."""
        return self._mean(self.cost_sum)


def score(
    actual: FloatArray, mean: FloatArray, quantiles: FloatArray, *, levels: Levels, kept: FloatArray, costs: Costs
) -> Scores:
    """Scores of one forecast: actual, mean, kept (n, H) and quantiles (n, H, L)."""
    low, high = quantiles[..., int(np.argmin(levels))], quantiles[..., int(np.argmax(levels))]
    return Scores(
        (~np.isnan(actual)).sum(axis=1).astype(np.float64),
        np.nansum(pinball(actual, quantiles, levels), axis=1),
        np.nansum(absolute_error(actual, mean), axis=1),
        np.nansum(covered(actual, low, high), axis=1),
        np.nansum(newsvendor(actual, kept, costs), axis=1),
    )
