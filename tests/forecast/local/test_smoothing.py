"""Plain forecasts: levels, trends that are followed with care, and yesterday."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.forecast.local.smoothing import GRID, REACH, SeasonalNaive, Smoothing, smooth, spread_growth
from tests.forecast.made import LEVELS, batch_of


def test_smoothing_many_functions_is_smoothing_each() -> None:
    rng = np.random.default_rng(2)
    values = rng.poisson(5, (3, 40)).astype(np.float64)
    values[1, 10:14] = np.nan
    together = smooth(values, GRID)
    for row in range(3):
        for number, one_set in enumerate(GRID):
            alone = smooth(values[row : row + 1], (one_set,))
            assert together.level[number, row] == pytest.approx(alone.level[0, 0])
            np.testing.assert_allclose(together.errors[number, row], alone.errors[0, 0])


def test_the_recursion_is_gardner_and_mckenzies() -> None:
    alpha, beta, phi = 0.5, 0.2, 0.9
    values = [3.0, 5.0, 4.0, 8.0]
    level, trend = 3.0, 0.0
    for value in values[1:]:
        error = value - level - phi * trend
        level, trend = level + phi * trend + alpha * error, phi * trend + alpha * beta * error
    run = smooth(np.array([values]), ((alpha, beta, phi),))
    assert run.level.item() == pytest.approx(level)
    assert run.trend.item() == pytest.approx(trend)


def test_a_level_shift_is_followed_and_an_unknown_stretch_is_not_a_fall() -> None:
    values = np.r_[np.full(60, 2.0), np.full(60, 9.0), np.full(20, np.nan)]
    answer = Smoothing().predict(batch_of(values), 5, LEVELS)
    np.testing.assert_allclose(answer.mean, 9.0, atol=0.1)


def test_a_steady_fall_ends_at_zero_and_never_below() -> None:
    answer = Smoothing().predict(batch_of(np.arange(100.0, -1.0, -2.0)), 60, LEVELS)
    assert answer.mean.max() < 1.0
    assert (np.diff(answer.mean[0]) <= 0).all()
    assert answer.quantiles.min() >= 0.0


def test_a_rise_is_followed_but_not_to_the_sky() -> None:
    values = np.arange(0.0, 100.0, 2.0)
    answer = Smoothing().predict(batch_of(values), 200, LEVELS)
    assert answer.mean[0, 0] == pytest.approx(100.0, abs=1.0)
    assert answer.mean.max() <= 100.0 + 2.0 * (REACH + 1)


def test_a_short_history_gets_no_trend() -> None:
    answer = Smoothing().predict(batch_of(np.arange(10.0)), 5, LEVELS)
    assert answer.reasons[0].startswith("smoothed level over 10 known steps")
    np.testing.assert_allclose(answer.mean, 9.0, atol=0.5)


def test_intervals_cover_noise_and_widen_with_the_horizon() -> None:
    rng = np.random.default_rng(0)
    walk = 500 + np.cumsum(rng.normal(0, 1, (200, 340)), axis=1)
    answer = Smoothing(trend=False).predict(batch_of(*walk[:, :300]), 40, LEVELS)
    low, high = answer.quantiles[..., 0], answer.quantiles[..., -1]
    covered = ((walk[:, 300:] >= low) & (walk[:, 300:] <= high)).mean(axis=0)
    assert covered[0] == pytest.approx(0.95, abs=0.04)
    assert covered[-1] == pytest.approx(0.95, abs=0.05)
    assert ((high - low)[:, -1] > 4 * (high - low)[:, 0]).all()


def test_a_random_walk_spreads_with_the_root_of_time() -> None:
    np.testing.assert_allclose(spread_growth(1.0, 0.0, 0.0, 9), np.sqrt(np.arange(1, 10)))
    assert spread_growth(0.1, 0.0, 0.0, 1).tolist() == [1.0]


def test_no_data_is_told() -> None:
    answer = Smoothing().predict(batch_of(np.full(5, np.nan)), 2, LEVELS)
    assert answer.reasons == ("no data; nothing to smooth",)
    assert not answer.mean.any()


def test_seasonal_naive_repeats_yesterday_and_skips_its_gaps() -> None:
    hours = np.tile(np.arange(24.0), 3)
    hours[49] = np.nan
    answer = SeasonalNaive().predict(batch_of(hours, step_s=3_600), 26, LEVELS)
    assert answer.mean[0].tolist() == [0.0, 23.0, *np.arange(2.0, 24.0), 0.0, 23.0]


def test_without_a_season_the_newest_known_value_speaks() -> None:
    answer = SeasonalNaive().predict(batch_of([1.0, 4.0, np.nan]), 2, LEVELS)
    assert answer.mean.tolist() == [[4.0, 4.0]]
    assert "shorter than a season" in answer.reasons[0]
