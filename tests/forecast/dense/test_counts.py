"""P(N >= k) read off quantiles."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prewarm.forecast.dense.counts import chances_at_least

LEVELS = (0.1, 0.5, 0.9)


def test_a_uniform_distribution_is_read_off_exactly() -> None:
    levels = tuple((np.arange(40) + 0.5) / 40)
    quantiles = 4.0 * np.array(levels)
    found = chances_at_least(quantiles, levels, 4)
    np.testing.assert_allclose(found, 1.0 - (np.arange(1, 5) - 0.5) / 4.0, atol=1e-9)


def test_a_series_that_is_surely_zero_needs_nothing() -> None:
    np.testing.assert_array_equal(chances_at_least(np.zeros(3), LEVELS), np.zeros(4))


def test_a_series_far_above_needs_every_level() -> None:
    found = chances_at_least(np.array([90.0, 100.0, 110.0]), LEVELS)
    assert (found > 0.99).all()


def test_zero_half_of_the_time_leaves_at_most_half() -> None:
    found = chances_at_least(np.array([0.0, 0.0, 2.0]), LEVELS)
    assert found[0] <= 0.5
    np.testing.assert_allclose(found[0], 1.0 - (0.5 + 0.4 * 0.25))


def test_leading_axes_are_kept() -> None:
    assert chances_at_least(np.ones((2, 5, 3)), LEVELS, 6).shape == (2, 5, 6)
    assert chances_at_least(np.ones((0, 5, 3)), LEVELS).shape == (0, 5, 4)


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=3))
def test_chances_are_chances_and_fall_with_k(values: list[float]) -> None:
    found = chances_at_least(np.sort(np.array(values)), LEVELS, 5)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) <= 1e-12).all()
