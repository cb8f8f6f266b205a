"""A day's refit sees the past only, and its rows carry the linear forecasts."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.domain import FloatArray, IntArray
from prewarm.forecast.dense.features import Past
from prewarm.forecast.dense.linear import RECIPES
from prewarm.forecast.dense.roll import NEEDED_POINTS, feature_names, linear_columns, refit, rows_of
from prewarm.forecast.dense.root import DAY, rooted
from tests.forecast.dense.made_dense import timers


def test_a_refit_does_not_change_with_what_comes_later() -> None:
    root = rooted(timers(11, seed=1))
    bent = root.copy()
    bent[10 * DAY :] = 40.0
    one, other = (refit(Past.of(r), 10 * DAY, (1, 15)) for r in (root, bent))
    assert one.periods == other.periods
    for horizon in (1, 15):
        for a, b in zip(one.linear[horizon], other.linear[horizon], strict=True):
            np.testing.assert_array_equal(a.weights, b.weights)


def test_the_least_history_is_enough_for_a_refit_and_a_day_of_rows() -> None:
    past = Past.of(rooted(timers(NEEDED_POINTS // DAY + 1, seed=2)))
    known = refit(past, NEEDED_POINTS, (1, 60))
    for horizon in (1, 60):
        found = rows_of(past, known, np.arange(NEEDED_POINTS, NEEDED_POINTS + DAY), horizon)
        assert found.values.shape == (DAY, len(found.names))
        assert np.isfinite(found.values).all()


def columns(root: FloatArray, horizon: int, targets: IntArray) -> dict[str, FloatArray]:
    known = refit(Past.of(root), 10 * DAY, (horizon,))
    return linear_columns(root, known.linear[horizon], targets, horizon)


def test_linear_columns_are_the_linear_forecasts_as_distances() -> None:
    past = Past.of(rooted(timers(11, seed=3)))
    known = refit(past, 10 * DAY, (5,))
    targets = np.arange(10 * DAY, 10 * DAY + 50)
    found = rows_of(past, known, targets, 5)
    column = found.values[:, found.names.index("linear1")]
    said = known.linear[5][1].predict(past.root, targets)
    np.testing.assert_allclose(column * found.scale + found.profile, said, rtol=1e-4)


def test_a_linear_forecast_is_not_below_the_root_of_zero() -> None:
    counts = np.zeros(11 * DAY)
    counts[::7] = 5.0
    said = columns(rooted(counts), 1, np.arange(10 * DAY, 11 * DAY))
    assert min(said[f"linear{number}"].min() for number in range(len(RECIPES))) >= 0.375**0.5


@pytest.mark.parametrize("horizon", [1, 15])
def test_the_newest_error_is_that_of_the_forecast_for_a_horizon_ago(horizon: int) -> None:
    root = rooted(timers(11, seed=4))
    targets = np.arange(10 * DAY + 100, 10 * DAY + 200)
    found = columns(root, horizon, targets)
    before = columns(root, horizon, targets - horizon)
    np.testing.assert_allclose(found["el0_0"], root[targets - horizon] - before["linear0"], atol=1e-9)
    np.testing.assert_allclose(found["el0_2"][2:], found["el0_0"][:-2], atol=1e-9)
    np.testing.assert_allclose(found["el1_m3"], (found["el1_0"] + found["el1_1"] + found["el1_2"]) / 3, atol=1e-9)


@pytest.mark.parametrize("horizon", [1, 5, 60])
def test_rows_with_errors_of_linear_fits_see_nothing_ahead(horizon: int) -> None:
    root = rooted(timers(11, seed=5))
    target = np.array([10 * DAY + 400])
    known = refit(Past.of(root), 10 * DAY, (horizon,))
    bent = root.copy()
    bent[target[0] - horizon + 1 :] = 70.0
    one, other = (rows_of(Past.of(r), known, target, horizon).values for r in (root, bent))
    np.testing.assert_array_equal(one, other)


def test_names_stand_in_the_order_of_the_columns() -> None:
    past = Past.of(rooted(timers(10)))
    found = rows_of(past, refit(past, NEEDED_POINTS, (5,)), np.arange(NEEDED_POINTS, NEEDED_POINTS + 3), 5)
    assert found.names == feature_names()
    assert found.names.count("el1_m180") == 1
