"""Sizing: the newsvendor rule against brute force, and its corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import Float32Array, Int32Array
from prewarm.policy.pool import pool_target, span_of, threshold, threshold_for_latency


@dataclass(frozen=True)
class Table:
    """Levels as plain columns."""

    row: Int32Array
    level: Int32Array
    p: Float32Array


def table(*functions: list[float]) -> Table:
    """Levels of functions whose P(N >= 1), P(N >= 2), ... are listed."""
    row = [index for index, chances in enumerate(functions) for _ in chances]
    level = [k + 1 for chances in functions for k in range(len(chances))]
    p = [chance for chances in functions for chance in chances]
    return Table(np.array(row, np.int32), np.array(level, np.int32), np.array(p, np.float32))


def test_threshold_is_the_public_price_ratio() -> None:
    """A 150 MB function pays from 10 % on: 60 s x 0.15 GB / 99.69 against 0.808."""
    idle = 60 * 0.15 / 99.69
    assert threshold(np.array([0.808]), np.array([idle])) == pytest.approx([idle / (idle + 0.808)])


def test_nothing_is_worth_keeping_when_nothing_costs_anything() -> None:
    """Both prices zero: no instance is kept, and nothing divides by zero."""
    limit = threshold(np.array([0.0]), np.array([0.0]))
    target, _ = pool_target(table([0.9]), limit)
    assert target.tolist() == [0]


@pytest.mark.parametrize(
    ("chances", "limit", "expected"),
    [
        ([0.9, 0.5, 0.05], 0.1, 2),
        ([0.05, 0.9], 0.1, 0),
        ([], 0.1, 0),
        ([0.125], 0.125, 0),
        ([1.0, 1.0, 1.0], 0.999, 3),
        ([0.2, 0.05, 0.2], 0.1, 1),
    ],
    ids=["two pay", "gap stops", "no rows", "equal does not pay", "all", "second gap"],
)
def test_levels_count_up_to_the_first_that_does_not_pay(chances: list[float], limit: float, expected: int) -> None:
    """Levels are taken from the first on without a gap."""
    target, invalid = pool_target(table(chances), np.array([limit]))
    assert target.tolist() == [expected]
    assert not invalid.any()


def test_functions_between_others_keep_their_own_levels() -> None:
    """A function without any row stands between two that have some."""
    levels = Table(np.array([0, 2, 2], np.int32), np.array([1, 1, 2], np.int32), np.array([0.5, 0.6, 0.4], np.float32))
    target, _ = pool_target(levels, np.array([0.1, 0.1, 0.1]))
    assert target.tolist() == [1, 0, 2]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -0.1, 1.5])
def test_a_probability_that_is_no_number_is_invalid_not_zero(bad: float) -> None:
    """The caller is told, so that it can hold what it has; the neighbours are not touched."""
    target, invalid = pool_target(table([0.5, bad], [0.5]), np.array([0.1, 0.1]))
    assert invalid.tolist() == [True, False]
    assert target.tolist() == [0, 1]


def test_a_latency_goal_below_the_start_time_asks_for_one_in_a_hundred() -> None:
    """A goal that starts can meet, or none at all, leaves the price's threshold alone."""
    bound = threshold_for_latency(
        np.array([300.0, 300.0, np.nan]), np.array([2.3, 0.2, 2.3]), np.array([0.1, 0.1, 0.1])
    )
    assert bound.tolist() == [0.01, 0.1, 0.1]


@given(
    weights=st.lists(st.floats(0, 1), min_size=1, max_size=8),
    cold=st.floats(0.01, 10),
    idle=st.floats(0.001, 10),
)
def test_the_target_minimises_the_expected_cost(weights: list[float], cold: float, idle: float) -> None:
    """No other number of instances is cheaper under the same distribution."""
    mass = np.array([*weights, 1e-3])
    mass = mass / mass.sum()
    at_least = np.r_[np.cumsum(mass[::-1])[::-1][1:]]
    target, _ = pool_target(table(list(np.clip(at_least, 0, 1))), threshold(np.array([cold]), np.array([idle])))
    need = np.arange(len(mass))
    costs = [
        float(mass @ (cold * np.maximum(need - n, 0) + idle * np.maximum(n - need, 0))) for n in range(len(mass) + 1)
    ]
    assert costs[int(target[0])] == pytest.approx(min(costs), abs=1e-5)


@pytest.mark.parametrize(
    ("row", "span"), [(0, (0, 1)), (1, (1, 1)), (2, (1, 4)), (3, (4, 4))], ids=["one", "none", "three", "after all"]
)
def test_the_pairs_of_a_function_are_found_in_the_sorted_column(row: int, span: tuple[int, int]) -> None:
    """Function 1 and those after the last have none."""
    assert span_of(np.array([0, 2, 2, 2], np.int32), row) == span
