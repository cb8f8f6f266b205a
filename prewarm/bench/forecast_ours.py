"""Our dense forecaster, walked over the test days: refitted at midnight, then rolled forward minute by minute.

Two days before the test are walked as well, so that its first intervals have errors to stand on. Every part can be left
out, which gives the ablation rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.bench.forecast_protocol import DAY, HORIZONS, LEVELS, TEST_START, TEST_STOP, Answers, Demand, Progress
from prewarm.domain import FloatArray
from prewarm.forecast.dense.conformal import Centre, rolling_quantiles, standard_errors
from prewarm.forecast.dense.day import (
    WEEK_DAYS,
    DayRows,
    Misses,
    corrected_for,
    day_centres,
    day_misses,
    rows_for_day,
)
from prewarm.forecast.dense.model import DenseModel
from prewarm.forecast.dense.root import counted
from prewarm.forecast.dense.table import Panel
from prewarm.forecast.dense.train import panel_of

WARM_UP_DAYS = 2


@dataclass(frozen=True, slots=True)
class Walk:
    """The panel and the rows of all days that a walk reads, built once; `refit_ms` per series and day."""

    demand: Demand
    panel: Panel
    rows: dict[int, DayRows]
    refit_ms: float


def prepare(demand: Demand, progress: Progress) -> Walk:
    """Rows of the days from a week before the warm-up to the end of the test."""
    panel = panel_of(demand.counts)
    days = range(TEST_START - WARM_UP_DAYS - WEEK_DAYS, TEST_STOP)
    began = time.perf_counter()
    rows: dict[int, DayRows] = {}
    for number, day in enumerate(days):
        rows[day] = rows_for_day(panel, day * DAY, HORIZONS)
        progress(number / len(days), f"ours: rows of day {day}")
    spent_ms = (time.perf_counter() - began) * 1e3
    return Walk(demand, panel, rows, spent_ms / len(days) / len(demand.names))


@dataclass(frozen=True, slots=True)
class _Day:
    medians: dict[int, FloatArray]
    spreads: dict[int, FloatArray]


def walk(model: DenseModel, prepared: Walk, progress: Progress, *, correct: bool = True) -> Answers:
    """The model over all test days; `correct` False leaves the daily correction out."""
    first = TEST_START - WARM_UP_DAYS
    fitting_s = 0.0
    forecasting_s = 0.0
    misses: dict[int, Misses] = {}
    days: list[_Day] = []
    for day in range(first, TEST_STOP):
        progress((day - first) / (TEST_STOP - first), f"ours: day {day}")
        began = time.perf_counter()
        for past in range(day - WEEK_DAYS, day) if correct else ():
            if past not in misses:
                misses[past] = day_misses(model, prepared.panel, prepared.rows[past])
        fresh = corrected_for(model, [misses[past] for past in range(day - WEEK_DAYS, day) if past in misses])
        fitted = time.perf_counter()
        centres = {h: day_centres(fresh, prepared.rows[day], h) for h in HORIZONS}
        days.append(_Day({h: c[0] for h, c in centres.items()}, {h: c[1] for h, c in centres.items()}))
        fitting_s += fitted - began
        forecasting_s += time.perf_counter() - fitted
    return _answers(prepared, days, fitting_s=fitting_s, forecasting_s=forecasting_s)


def _answers(prepared: Walk, days: Sequence[_Day], *, fitting_s: float, forecasting_s: float) -> Answers:
    began = time.perf_counter()
    median, low, high = {}, {}, {}
    for horizon in HORIZONS:
        middle = np.concatenate([day.medians[horizon] for day in days], axis=1)
        spread = np.concatenate([day.spreads[horizon] for day in days], axis=1)
        bounds = np.stack([_interval(prepared, n, Centre(middle[n], spread[n]), horizon) for n in range(len(middle))])
        low[horizon], high[horizon] = bounds[..., 0], bounds[..., 2]
        median[horizon] = counted(middle[:, WARM_UP_DAYS * DAY :])
    forecasting_s += time.perf_counter() - began
    per_series = len(days) * len(prepared.demand.names)
    return Answers(
        "prewarm_dense",
        median,
        prepared.refit_ms + fitting_s * 1e3 / per_series,
        forecasting_s * 1e3 / per_series / DAY,
        "shipped trees, daily linear refit and correction on 10,080 points; rows of features count as refit",
        low,
        high,
    )


def _interval(prepared: Walk, number: int, centre: Centre, horizon: int) -> FloatArray:
    """Counts (N, L) at LEVELS for the test minutes of one series, from the errors known at each moment."""
    start, stop = (TEST_START - WARM_UP_DAYS) * DAY, TEST_STOP * DAY
    known = prepared.panel.known[number, start:stop]
    outcome = np.where(known, prepared.panel.pasts[number].root[start:stop], np.nan)
    errors = standard_errors(outcome, centre)
    skip = WARM_UP_DAYS * DAY
    at = rolling_quantiles(errors, horizon, skip, LEVELS)
    return counted(centre.median[skip:, None] + centre.spread[skip:, None] * at)
