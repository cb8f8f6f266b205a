"""The LogNormal laws of the world, drawn and as tables of quantiles that compiled loops look up."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from prewarm.domain import FloatArray


def lognormal_parameters(mean: float, cv: float) -> tuple[float, float]:
    """(mu, sigma) of the LogNormal of this mean and coefficient of variation."""
    sigma_squared = np.log1p(cv * cv)
    return float(np.log(mean) - sigma_squared / 2), float(np.sqrt(sigma_squared))


def lognormal(count: int, rng: np.random.Generator, *, mean: float, cv: float) -> FloatArray:
    """Draws, (count,)."""
    mu, sigma = lognormal_parameters(mean, cv)
    return rng.lognormal(mu, sigma, count)


def quantiles(size: int, *, mean: float, cv: float) -> FloatArray:
    """The law at the middles of `size` equal parts of 0..1, scaled so that the table's mean is exact."""
    mu, sigma = lognormal_parameters(mean, cv)
    table = np.exp(mu + sigma * norm.ppf((np.arange(size) + 0.5) / size))
    scaled: FloatArray = table * (mean / table.mean())
    return scaled
