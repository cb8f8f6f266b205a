"""The forecast benchmark's rules: what is read, who is scored on which minutes, what counts as covered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.bench.forecast_protocol import (
    DAY,
    FOLDER,
    HORIZONS,
    TEST_START,
    TEST_STOP,
    Answers,
    Demand,
    coverages,
    error_ratios,
    error_row,
    naive,
    read_demand,
    region_rows,
)
from prewarm.domain import FloatArray, InputError

TEST_MINUTES = (TEST_STOP - TEST_START) * DAY


def demand_of(*rows: FloatArray) -> Demand:
    return Demand(tuple(f"R{i + 1}" for i in range(len(rows))), np.stack(rows), {"a.csv": "0" * 64})


def alternating(size: float) -> FloatArray:
    """Zero on even days, `size` on odd ones: seasonal-naive misses by `size` every minute."""
    return np.repeat(np.where(np.arange(TEST_STOP) % 2, size, 0.0), DAY)


def same(values: FloatArray) -> dict[int, FloatArray]:
    return dict.fromkeys(HORIZONS, values)


def test_seasonal_naive_scores_one_against_itself() -> None:
    demand = demand_of(alternating(4.0), alternating(100.0))
    for ratio in error_ratios(demand, naive(demand)).values():
        np.testing.assert_array_equal(ratio, [1.0, 1.0])


def test_errors_are_relative_per_series_then_averaged() -> None:
    demand = demand_of(alternating(4.0), alternating(100.0))
    said = demand.days(TEST_START, TEST_STOP) + np.array([[2.0], [10.0]])
    row = error_row(demand, Answers("m", same(said), 1.0, 2.0))
    assert row["error_5min"] == pytest.approx((0.5 + 0.1) / 2)
    assert row["worst_5min"] == pytest.approx(0.5)


def test_unknown_minutes_are_left_out() -> None:
    counts = alternating(4.0)
    counts[TEST_START * DAY : TEST_START * DAY + 100] = np.nan
    demand = demand_of(counts)
    said = np.nan_to_num(demand.days(TEST_START, TEST_STOP)) + 1.0
    assert error_ratios(demand, Answers("m", same(said), 0.0, 0.0))[1][0] == pytest.approx(0.25)


def test_a_bound_itself_is_inside_the_interval() -> None:
    demand = demand_of(alternating(4.0))
    actual = demand.days(TEST_START, TEST_STOP)
    high = actual.copy()
    high[:, : TEST_MINUTES // 4] -= 1.0
    answers = Answers("m", same(actual), 0.0, 0.0, low=same(actual - 9.0), high=same(high))
    assert coverages(demand, answers)[15][0] == pytest.approx(0.75)
    row = region_rows(demand, answers)[0]
    assert row["coverage_15min"] == pytest.approx(0.75)
    assert row["width_1min"] == pytest.approx(9.0 - 0.25)


def write_csv(folder: Path, days: int) -> None:
    folder.mkdir(parents=True)
    lines = ["day,minute,R1,R2"]
    lines += [f"{day},{minute},{day},{minute % 7}" for day in range(days) for minute in range(DAY)]
    (folder / "demand.csv").write_text("\n".join(lines) + "\n")


def test_the_regions_are_read_as_series(tmp_path: Path) -> None:
    write_csv(tmp_path / FOLDER, TEST_STOP)
    demand = read_demand(tmp_path)
    assert demand.counts.shape == (2, TEST_STOP * DAY)
    assert demand.counts[0, 5 * DAY] == 5.0
    assert demand.counts[1, 6] == 6.0
    assert list(demand.sha256) == ["demand.csv"]


def test_absent_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=FOLDER):
        read_demand(tmp_path)


def test_a_trace_without_the_test_days_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / FOLDER, 2)
    with pytest.raises(InputError, match="31 days"):
        read_demand(tmp_path)
