"""One day's refit and the rows that follow from it: the same code in training, in the benchmark and in the service.

A refit at `now` reads the past only: the linear fits of every horizon, and the periods of odd timers. Everything after
it rolls forward with these fixed, until the next refit a day later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, IntArray
from prewarm.forecast.dense.combs import COMBS, FOLD_DAYS, comb_periods
from prewarm.forecast.dense.features import Past, Rows, feature_rows
from prewarm.forecast.dense.linear import RECIPES, LinearFit, fit_linear
from prewarm.forecast.dense.root import DAY, WEEK

HORIZONS = (1, 5, 15, 60)  # minutes ahead that have a model of their own
NEEDED_POINTS = 9 * DAY  # history before the first refit


@dataclass(frozen=True, slots=True)
class Refit:
    """What was learned of one series at `now`: linear fits by horizon, in the order of RECIPES, and comb periods."""

    now: int
    linear: dict[int, tuple[LinearFit, ...]]
    periods: tuple[int, ...]


def refit(past: Past, now: int, horizons: tuple[int, ...] = HORIZONS) -> Refit:
    """Learned from the points before `now`; needs `now` >= NEEDED_POINTS."""
    fits = [fit_linear(past.root, now, horizons, recipe) for recipe in RECIPES]
    linear = {h: tuple(fit[h] for fit in fits) for h in horizons}
    folded = past.residual[max(WEEK, now - FOLD_DAYS * DAY) : now]
    return Refit(now, linear, comb_periods(folded))


def rows_of(past: Past, known: Refit, targets: IntArray, horizon: int) -> Rows:
    """Feature rows of `targets` (ascending), each as known `horizon` minutes before it."""
    linear = linear_roots(past.root, known, targets, horizon)
    return feature_rows(past, targets, horizon, linear=linear, periods=known.periods, combs=COMBS)


def linear_roots(root: FloatArray, known: Refit, targets: IntArray, horizon: int) -> FloatArray:
    """The linear forecasts (N, R) of `targets`; roots, not below 3/8's."""
    lowest = 0.375**0.5
    return np.stack([np.maximum(fit.predict(root, targets), lowest) for fit in known.linear[horizon]], axis=1)
