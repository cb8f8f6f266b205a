"""A day's refit sees the past only, and its rows carry the linear forecasts."""

from __future__ import annotations

import numpy as np

from prewarm.forecast.dense.features import Past
from prewarm.forecast.dense.linear import RECIPES
from prewarm.forecast.dense.roll import NEEDED_POINTS, linear_roots, refit, rows_of
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


def test_linear_columns_are_the_linear_forecasts_as_distances() -> None:
    past = Past.of(rooted(timers(11, seed=3)))
    known = refit(past, 10 * DAY, (5,))
    targets = np.arange(10 * DAY, 10 * DAY + 50)
    found, said = rows_of(past, known, targets, 5), linear_roots(past.root, known, targets, 5)
    assert said.shape == (50, len(RECIPES))
    column = found.values[:, found.names.index("linear1")]
    np.testing.assert_allclose(column * found.scale + found.profile, said[:, 1], rtol=1e-4)


def test_a_linear_forecast_is_not_below_the_root_of_zero() -> None:
    counts = np.zeros(11 * DAY)
    counts[::7] = 5.0
    past = Past.of(rooted(counts))
    said = linear_roots(past.root, refit(past, 10 * DAY, (1,)), np.arange(10 * DAY, 11 * DAY), 1)
    assert said.min() >= 0.375**0.5
