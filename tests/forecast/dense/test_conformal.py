"""Quantiles from past errors: they cover what they say, follow a drift, and never use an outcome too early."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.forecast.dense.conformal import (
    FEWEST,
    SAMPLE,
    Centre,
    adapted,
    rolling_quantiles,
    sample_quantiles,
    standard_errors,
)

LEVELS = (0.025, 0.5, 0.975)


def test_errors_are_in_units_of_the_expected_spread() -> None:
    centre = Centre(np.array([2.0, 2.0, 2.0]), np.array([0.5, 1.0, 2.0]))
    np.testing.assert_array_equal(standard_errors(np.array([3.0, 3.0, np.nan]), centre)[:2], [2.0, 1.0])
    assert np.isnan(standard_errors(np.array([3.0, 3.0, np.nan]), centre)[2])


def test_outer_levels_are_moved_outwards_by_the_size_of_the_sample() -> None:
    errors = np.linspace(0.0, 1.0, 101)
    found = sample_quantiles(errors, np.array([0.1, 0.5, 0.9]))
    np.testing.assert_allclose(found, [0.5 - 0.4 * 102 / 101, 0.5, 0.5 + 0.4 * 102 / 101])


@pytest.mark.parametrize("known", [0, 1, FEWEST - 1])
def test_few_errors_are_filled_up_with_a_normal_prior(known: int) -> None:
    found = sample_quantiles(np.full(known, 0.1), np.array(LEVELS))
    assert (np.diff(found) > 0).all()
    assert found[2] > 1.0


def test_unknown_errors_are_left_out() -> None:
    errors = np.concatenate([np.linspace(-1, 1, 100), np.full(100, np.nan)])
    np.testing.assert_array_equal(
        sample_quantiles(errors, np.array(LEVELS)), sample_quantiles(errors[:100], np.array(LEVELS))
    )


@pytest.mark.parametrize("shape", ["normal", "lopsided", "growing"])
def test_the_central_interval_covers_what_it_says(shape: str) -> None:
    rng = np.random.default_rng(7)
    errors = rng.normal(0, 1, 6000)
    if shape == "lopsided":
        errors = rng.exponential(1.0, 6000) - 0.7
    if shape == "growing":
        errors = errors * np.linspace(1.0, 2.5, 6000)
    first = 1500
    at = rolling_quantiles(errors, 5, first, LEVELS)
    inside = (errors[first:] >= at[:, 0]) & (errors[first:] <= at[:, 2])
    assert 0.93 <= inside.mean() <= 0.97


def test_rolling_starts_from_the_errors_that_were_known() -> None:
    rng = np.random.default_rng(8)
    errors = rng.normal(0, 1, 500)
    at = rolling_quantiles(errors, 15, 200, LEVELS)
    np.testing.assert_allclose(at[0], sample_quantiles(errors[: 200 - 15 + 1], np.array(LEVELS)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 15), st.integers(0, 79))
def test_a_quantile_knows_no_error_younger_than_the_horizon(seed: int, horizon: int, place: int) -> None:
    rng = np.random.default_rng(seed)
    errors = rng.normal(0, 1, 280)
    bent = errors.copy()
    bent[200 + place - horizon + 1 :] = 50.0
    before, after = (rolling_quantiles(e, horizon, 200, LEVELS)[place] for e in (errors, bent))
    np.testing.assert_array_equal(before, after)


def test_the_sample_forgets_what_is_older_than_its_length() -> None:
    errors = np.concatenate([np.full(SAMPLE, 9.0), np.random.default_rng(1).normal(0, 1, SAMPLE + 200)])
    at = rolling_quantiles(errors, 1, SAMPLE, (0.5,))
    assert at[0, 0] == 9.0
    assert abs(at[-1, 0]) < 0.2


def test_a_miss_above_raises_the_level_and_a_hit_lowers_it_a_little() -> None:
    wanted = np.array([0.975])
    up = adapted(wanted, wanted, 3.0, np.array([2.0]))
    down = adapted(wanted, wanted, 1.0, np.array([2.0]))
    assert up[0] > 0.975 > down[0]
    assert (up[0] - 0.975) == pytest.approx(39 * (0.975 - down[0]))


def test_an_unknown_outcome_moves_no_level() -> None:
    wanted = np.array(LEVELS)
    np.testing.assert_array_equal(adapted(wanted, wanted, float("nan"), np.zeros(3)), wanted)


def test_unknown_minutes_break_no_rolling_sample() -> None:
    errors = np.random.default_rng(3).normal(0, 1, 400)
    errors[::3] = np.nan
    at = rolling_quantiles(errors, 2, 200, LEVELS)
    assert np.isfinite(at).all()
    assert (np.diff(at, axis=1) >= 0).all()
