"""The daily linear fits: exact on what is linear, sturdy against bursts, blind to the future."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.domain import FloatArray
from prewarm.forecast.dense.linear import FITTED_POINTS, LONGEST_LAG, RECIPES, LinearFit, Recipe
from prewarm.forecast.dense.linear import fit_linear as fit_horizons
from prewarm.forecast.dense.root import DAY
from tests.forecast.dense.made_dense import timers

NOW = 9 * DAY


def fit_linear(root: FloatArray, now: int, horizon: int, recipe: Recipe) -> LinearFit:
    return fit_horizons(root, now, (horizon,), recipe)[horizon]


@pytest.mark.parametrize("recipe", RECIPES[:2])
def test_horizons_fitted_together_are_those_fitted_alone(recipe: Recipe) -> None:
    root = np.sqrt(timers(10, seed=8))
    together = fit_horizons(root, NOW, (1, 15), recipe)
    for horizon, fit in together.items():
        alone = fit_linear(root, NOW, horizon, recipe)
        np.testing.assert_array_equal(fit.lags, alone.lags)
        np.testing.assert_allclose(fit.weights, alone.weights, atol=1e-8)


@pytest.mark.parametrize("horizon", [1, 5, 15, 60])
@pytest.mark.parametrize("recipe", RECIPES)
def test_no_lag_is_shorter_than_the_horizon(recipe: Recipe, horizon: int) -> None:
    lags = recipe.lags(horizon)
    assert lags.min() == horizon
    assert lags.max() <= LONGEST_LAG
    assert (np.diff(lags) > 0).all()


def test_a_daily_pattern_without_noise_is_forecast_exactly() -> None:
    day = np.sin(np.arange(DAY) / 97.0) + 4.0
    root = np.tile(day, 10)
    fit = fit_linear(root, NOW, 5, Recipe(60, 1, (), beside_hours=False, penalty=1e-6))
    targets = np.arange(NOW, NOW + DAY)
    np.testing.assert_allclose(fit.predict(root, targets), root[targets], atol=1e-2)


def test_an_hourly_timer_is_seen_among_noise() -> None:
    root = np.sqrt(timers(10, seed=3))
    targets = np.arange(NOW, NOW + DAY)
    for recipe in RECIPES:
        said = fit_linear(root, NOW, 1, recipe).predict(root, targets)
        fired = targets % 60 == 7
        assert said[fired].mean() - said[~fired].mean() > 0.8 * (
            root[targets][fired].mean() - root[targets][~fired].mean()
        )


def test_a_fit_reads_nothing_from_now_on() -> None:
    root = np.sqrt(timers(10, seed=4))
    bent = root.copy()
    bent[NOW:] = 100.0
    for recipe in RECIPES[:2]:
        np.testing.assert_array_equal(
            fit_linear(root, NOW, 1, recipe).weights, fit_linear(bent, NOW, 1, recipe).weights
        )


def test_a_fit_uses_at_most_a_week_of_targets() -> None:
    """Targets older than 10,080 points may say what they like: as targets they are not read (as lags they are)."""
    root = np.sqrt(timers(20, seed=5))
    now = 19 * DAY
    bent = root.copy()
    bent[: now - FITTED_POINTS - LONGEST_LAG] = 50.0
    np.testing.assert_array_equal(
        fit_linear(root, now, 1, RECIPES[1]).weights, fit_linear(bent, now, 1, RECIPES[1]).weights
    )


def test_bursts_move_the_robust_fit_less() -> None:
    rng = np.random.default_rng(6)
    root = np.full(10 * DAY, 5.0) + rng.normal(0, 0.1, 10 * DAY)
    root[rng.random(len(root)) < 0.05] += 8.0
    targets = np.arange(NOW, NOW + DAY)
    plain, robust = (
        float(np.median(fit_linear(root, NOW, 1, Recipe(60, 1, (), False, 0.1, rounds)).predict(root, targets)))
        for rounds in (0, 4)
    )
    assert abs(robust - 5.0) < abs(plain - 5.0) / 3


def test_a_flat_series_is_forecast_flat() -> None:
    root = np.full(10 * DAY, 2.0)
    for recipe in RECIPES:
        said = fit_linear(root, NOW, 5, recipe).predict(root, np.arange(NOW, NOW + 30))
        np.testing.assert_allclose(said, 2.0)
