"""What passes between the level models: probabilities that never rise with the level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.forecast.levels.history_view import never_rising


@pytest.mark.parametrize(
    ("level", "p", "expected"),
    [
        pytest.param([1, 2, 3], [0.5, 0.6, 0.4], [0.5, 0.5, 0.4], id="one-rises"),
        pytest.param([1, 2, 3], [0.2, 0.3, 0.9], [0.2, 0.2, 0.2], id="all-rise"),
        pytest.param([1, 1, 2], [0.1, 0.9, 0.8], [0.1, 0.9, 0.8], id="another-function-may-be-higher"),
        pytest.param([], [], [], id="none"),
    ],
)
def test_levels_are_made_to_fall(level: list[int], p: list[float], expected: list[float]) -> None:
    fallen = never_rising(np.array(level, np.int32), np.array(p, np.float32))
    np.testing.assert_allclose(fallen, np.array(expected, np.float32))


@given(st.lists(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=6), max_size=5))
def test_each_is_the_smallest_of_its_function_so_far(functions: list[list[float]]) -> None:
    level = np.array([k for p in functions for k in range(1, len(p) + 1)], np.int32)
    p = np.array([chance for each in functions for chance in each], np.float32)
    smallest = [np.minimum.accumulate(each) for each in functions]
    np.testing.assert_array_equal(never_rising(level, p), np.concatenate([np.zeros(0), *smallest]).astype(np.float32))
