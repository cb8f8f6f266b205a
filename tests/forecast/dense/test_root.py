"""The scale of even noise, and gaps that only the past may close."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prewarm.forecast.dense.root import DAY, closed, counted, rooted, since_known


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=30))
def test_counts_survive_the_way_to_roots_and_back(counts: list[float]) -> None:
    values = np.array(counts)
    np.testing.assert_allclose(counted(rooted(values)), values, rtol=1e-9, atol=1e-9)


def test_a_root_below_that_of_zero_is_no_negative_count() -> None:
    np.testing.assert_array_equal(counted(np.array([-3.0, 0.0, 0.5])), [0.0, 0.0, 0.0])


def test_noise_is_even_at_every_level() -> None:
    rng = np.random.default_rng(0)
    spreads = [rooted(rng.poisson(rate, 4000).astype(float)).std() for rate in (5, 50, 500)]
    assert all(abs(spread - 0.5) < 0.05 for spread in spreads)


def test_a_gap_is_closed_by_the_same_minute_of_the_day_before() -> None:
    values = np.arange(2 * DAY, dtype=float)
    values[DAY + 5] = np.nan
    assert closed(values)[DAY + 5] == 5.0


def test_a_gap_on_the_first_day_holds_the_last_known_value() -> None:
    values = np.array([3.0, np.nan, np.nan, 9.0])
    np.testing.assert_array_equal(closed(values), [3.0, 3.0, 3.0, 9.0])


def test_a_gap_of_days_is_carried_on_day_by_day() -> None:
    values = np.concatenate([np.arange(DAY, dtype=float), np.full(2 * DAY, np.nan)])
    np.testing.assert_array_equal(closed(values)[2 * DAY :], np.arange(DAY))


@given(st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_closing_gaps_never_looks_ahead(cut: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.poisson(5, 400).astype(float)
    values[1:][rng.random(399) < 0.3] = np.nan
    np.testing.assert_array_equal(closed(values)[:cut], closed(values[:cut]))


def test_a_series_begins_with_its_first_known_minute() -> None:
    np.testing.assert_array_equal(since_known(np.array([np.nan, np.nan, 4.0, np.nan])), [4.0, np.nan])
    assert len(since_known(np.full(5, np.nan))) == 0
