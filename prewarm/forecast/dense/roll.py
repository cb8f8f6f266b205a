"""One day's refit and the rows that follow from it: the same code in training, in the benchmark and in the service.

A refit at `now` reads the past only: the linear fits of every horizon, and the periods of odd timers. Everything after
it rolls forward with these fixed, until the next refit a day later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, IntArray
from prewarm.forecast.dense.combs import COMBS, FOLD_DAYS, comb_periods
from prewarm.forecast.dense.features import Columns, Past, Rows, feature_rows
from prewarm.forecast.dense.linear import RECIPES, LinearFit, fit_linear
from prewarm.forecast.dense.root import DAY, WEEK

HORIZONS = (1, 5, 15, 60)  # minutes ahead that have a model of their own
NEEDED_POINTS = 9 * DAY  # history before the first refit
SLIPPING = 2  # linear fits whose own newest errors are read
SLIPS_BACK = 180  # minutes of such errors
LOWEST = 0.375**0.5  # the root of no calls


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
    """Feature rows of `targets` (ascending, without gaps), each as known `horizon` minutes before it."""
    linear = linear_columns(past.root, known.linear[horizon], targets, horizon)
    return feature_rows(past, targets, horizon, linear=linear, periods=known.periods, combs=COMBS)


def linear_columns(root: FloatArray, fits: tuple[LinearFit, ...], targets: IntArray, horizon: int) -> Columns:
    """The linear forecasts of `targets`, and how far the first two were lately off at the same horizon.

    The weekly profile's misses hold much noise of the profile itself; these are sharper, and tell whether a timer that
    did not fire is late.
    """
    first = int(targets[0]) - horizon - SLIPS_BACK
    seen = np.arange(first, int(targets[-1]) + 1)
    columns: Columns = {}
    for number, fit in enumerate(fits):
        said = np.maximum(fit.predict(root, seen), LOWEST)
        columns[f"linear{number}"] = said[targets - first]
        if number < SLIPPING:
            columns |= _slips(root[seen] - said, targets - first, horizon, name=f"el{number}")
    return columns


def _slips(errors: FloatArray, places: IntArray, horizon: int, *, name: str) -> Columns:
    """The newest errors known for the targets at `places`, their means, and those an hour or two before the target."""
    running = np.concatenate([[0.0], np.cumsum(errors)])
    now = places - horizon
    columns: Columns = {f"{name}_{k}": errors[now - k] for k in range(4)}
    columns |= {f"{name}_m{n}": (running[now + 1] - running[now + 1 - n]) / n for n in (3, 8, 20, 60, 180)}
    return columns | {f"{name}_h{k}": errors[places - 60 * k] for k in (1, 2)}


def feature_names() -> tuple[str, ...]:
    """The names of the columns, in order."""
    still = LinearFit(np.array([HORIZONS[-1]]), np.zeros(1), 1.0, np.zeros(1))
    known = Refit(NEEDED_POINTS, {1: (still,) * len(RECIPES)}, ())
    return rows_of(Past.of(np.ones(NEEDED_POINTS + 1)), known, np.array([NEEDED_POINTS]), 1).names
