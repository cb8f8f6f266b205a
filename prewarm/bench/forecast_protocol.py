"""The rules of the forecast benchmark: which days, what every forecaster is asked, how its answers are scored.

Horizon h is the single minute t + h, forecast from counts up to t. Everybody is scored on the same minutes of the same
days, each series against seasonal-naive (same minute of the day before) on these days, then averaged over the series: a
denominator from the training days would mislead where a series changes its level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from prewarm.bench.result import Row
from prewarm.domain import FloatArray, InputError
from prewarm.traces.formats.regions import read_regions

HORIZONS = (1, 5, 15)
TRAIN_STOP, TEST_START, TEST_STOP = 21, 25, 31  # days; validation lies between the first two
DAY = 1440
FOLDER = "huawei2025-coldstarts"
LEVELS = (0.025, 0.5, 0.975)

Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Demand:
    """Counts (n, T) per minute, NaN where unknown, from day 0 on; names and the files' sums."""

    names: tuple[str, ...]
    counts: FloatArray
    sha256: dict[str, str]

    def days(self, first: int, stop: int) -> FloatArray:
        """Counts of the days [first, stop)."""
        return self.counts[:, first * DAY : stop * DAY]


@dataclass(frozen=True, slots=True)
class Answers:
    """What one forecaster said for every test minute: by horizon (n, N), and what it cost per series in ms.

    `refit_ms` is once a day, `forecast_ms` per minute for all horizons together; `low`, `high` bound the central 95 %.
    """

    name: str
    median: dict[int, FloatArray]
    refit_ms: float
    forecast_ms: float
    note: str = ""
    low: dict[int, FloatArray] = field(default_factory=dict)
    high: dict[int, FloatArray] = field(default_factory=dict)


def read_demand(data_dir: Path) -> Demand:
    """The regions' counts; InputError where the trace is absent or shorter than the test days."""
    folder = data_dir / FOLDER
    found = sorted(folder.glob("*.csv"))
    if not found:
        raise InputError(f"{folder}: no CSV of demand per region and minute here; set PREWARM_TRACES or --data")
    trace = read_regions(found[0])
    if trace.minutes < TEST_STOP * DAY or trace.start_minute % DAY:
        raise InputError(f"{found[0]}: needs {TEST_STOP} days from midnight on, has {trace.minutes} minutes")
    counts = trace.dense_count().astype(np.float64)[:, : TEST_STOP * DAY]
    return Demand(trace.labels, counts, {source.name: source.sha256 for source in trace.sources})


def naive(demand: Demand) -> Answers:
    """Seasonal-naive of one day, the yardstick."""
    before = demand.days(TEST_START - 1, TEST_STOP - 1)
    return Answers("seasonal_naive_1d", dict.fromkeys(HORIZONS, before), 0.0, 0.0, "same minute of the day before")


def error_ratios(demand: Demand, answers: Answers) -> dict[int, FloatArray]:
    """Mean absolute error over seasonal-naive's, per horizon (n,); minutes unknown today or yesterday are left out."""
    actual = demand.days(TEST_START, TEST_STOP)
    yard = np.nanmean(np.abs(actual - demand.days(TEST_START - 1, TEST_STOP - 1)), axis=1)
    return {h: np.nanmean(np.abs(actual - said), axis=1) / yard for h, said in answers.median.items()}


def coverages(demand: Demand, answers: Answers) -> dict[int, FloatArray]:
    """Share of known minutes inside [low, high], per horizon (n,); a bound itself is inside."""
    actual = demand.days(TEST_START, TEST_STOP)
    known = ~np.isnan(actual)
    found: dict[int, FloatArray] = {}
    for horizon, low in answers.low.items():
        inside = (actual >= low) & (actual <= answers.high[horizon]) & known
        found[horizon] = inside.sum(axis=1) / known.sum(axis=1)
    return found


def error_row(demand: Demand, answers: Answers) -> Row:
    """One line of the main table."""
    ratios = error_ratios(demand, answers)
    row: Row = {"model": answers.name}
    row |= {f"error_{h}min": float(ratios[h].mean()) for h in HORIZONS}
    row |= {f"worst_{h}min": float(ratios[h].max()) for h in HORIZONS}
    row |= {"refit_ms": answers.refit_ms, "forecast_ms": answers.forecast_ms, "note": answers.note}
    return row


def region_rows(demand: Demand, answers: Answers) -> list[Row]:
    """One line per series: error, coverage of the 95 % interval and its mean width, per horizon."""
    ratios, shares = error_ratios(demand, answers), coverages(demand, answers)
    rows: list[Row] = []
    for number, name in enumerate(demand.names):
        row: Row = {"region": name}
        row |= {f"error_{h}min": float(ratios[h][number]) for h in HORIZONS}
        row |= {f"coverage_{h}min": float(shares[h][number]) for h in HORIZONS}
        row |= {f"width_{h}min": float((answers.high[h] - answers.low[h])[number].mean()) for h in HORIZONS}
        rows.append(row)
    return rows
