"""Feature rows: no look-ahead at any horizon, free of scale, finite on whatever comes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.domain import FloatArray
from prewarm.forecast.dense.features import LEAST_SCALE, Past, Rows, feature_rows
from prewarm.forecast.dense.root import DAY, WEEK
from tests.forecast.dense.made_dense import timers

SHORTEST_PAST = WEEK + DAY + 240  # points before the first target: the weekly profile of the day before it


def rows(root: FloatArray, targets: list[int], horizon: int, periods: tuple[int, ...] = (11, 13)) -> Rows:
    at = np.array(targets)
    return feature_rows(Past.of(root), at, horizon, linear={"linear0": np.ones(len(at))}, periods=periods, combs=2)


@pytest.mark.parametrize("horizon", [1, 5, 15, 60])
def test_a_row_reads_nothing_later_than_its_horizon_allows(horizon: int) -> None:
    root = np.sqrt(timers(12, seed=1))
    target = 11 * DAY + 61
    bent = root.copy()
    bent[target - horizon + 1 :] = 99.0
    np.testing.assert_array_equal(rows(root, [target], horizon).values, rows(bent, [target], horizon).values)


@pytest.mark.parametrize("horizon", [1, 5, 15, 60])
def test_a_row_reads_the_newest_minute_that_it_may(horizon: int) -> None:
    root = np.sqrt(timers(12, seed=1))
    target = 11 * DAY + 61
    bent = root.copy()
    bent[target - horizon] = 99.0
    assert not np.array_equal(rows(root, [target], horizon).values, rows(bent, [target], horizon).values)


def test_a_series_on_another_scale_has_the_same_rows_but_for_its_level() -> None:
    root = np.sqrt(timers(12, seed=2))
    one, other = rows(root, [11 * DAY], 5), rows(3.0 * root, [11 * DAY], 5)
    free = [place for place, name in enumerate(one.names) if name not in {"level", "scale"} and "linear" not in name]
    np.testing.assert_allclose(one.values[0, free], other.values[0, free], rtol=1e-4, atol=1e-4)
    assert other.scale[0] == pytest.approx(3.0 * one.scale[0])


def test_names_stand_in_the_order_of_the_columns() -> None:
    one = rows(np.sqrt(timers(12)), [11 * DAY], 1)
    assert one.names[-3:] == ("linear0", "level", "scale")
    assert len(set(one.names)) == len(one.names) == one.values.shape[1]


def test_the_profile_is_half_mean_half_median_of_the_week() -> None:
    root = np.zeros(9 * DAY)
    for day, value in enumerate([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 21.0]):
        root[(day + 1) * DAY + 5] = value
    found = rows(root, [8 * DAY + 5], 1)
    assert found.profile[0] == pytest.approx(0.5 * 4.0 + 0.5 * 6.0)


def test_misses_are_differences_to_the_weekly_profile() -> None:
    root = np.full(10 * DAY, 4.0)
    root[9 * DAY + 99] = 7.0
    found = rows(root, [9 * DAY + 100], 1)
    assert found.scale[0] == LEAST_SCALE
    assert found.values[0, found.names.index("e0")] == pytest.approx(3.0 / LEAST_SCALE)
    assert found.values[0, found.names.index("e1")] == 0.0


def test_an_odd_timer_shows_in_its_comb() -> None:
    minute = np.arange(14 * DAY)
    root = 3.0 + 2.0 * (minute % 11 == 0)
    target = int(minute[-1] // 11 * 11)
    found = rows(root, [target], 5, periods=(11,))
    assert found.values[0, found.names.index("ecomb0_12")] > 1.0
    assert found.values[0, found.names.index("ecomb1_12")] == 0.0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.01, 5.0, 1e6]), st.sampled_from([1, 15, 60]))
def test_rows_are_finite_for_any_counts(seed: int, level: float, horizon: int) -> None:
    root = np.sqrt(np.random.default_rng(seed).poisson(level, SHORTEST_PAST + 100) + 0.375)
    found = rows(root, [SHORTEST_PAST, SHORTEST_PAST + 99], horizon)
    assert np.isfinite(found.values).all()
    assert (found.scale >= LEAST_SCALE).all()


def test_the_first_week_has_no_residual() -> None:
    past = Past.of(np.sqrt(timers(8)))
    assert not past.residual[:WEEK].any()
    assert past.residual[WEEK:].any()
