"""Demand taken apart by place: binomial thinning of the levels, and what pooling saves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, poisson

from federation.pools.split import EXACT_UP_TO, LevelColumns, by_place, least_cost, rows_of, thinned
from prewarm.domain import FloatArray
from prewarm.policy.pool import pool_target, threshold


def levels(*functions: list[float]) -> LevelColumns:
    """P(N >= 1), P(N >= 2), ... of each function."""
    height = [len(one) for one in functions]
    return LevelColumns(
        np.repeat(np.arange(len(functions), dtype=np.int32), height),
        np.array([k + 1 for count in height for k in range(count)], dtype=np.int32),
        np.array([p for one in functions for p in one], dtype=np.float32),
    )


def by_enumeration(chances: list[float], share: float) -> list[float]:
    """P(N_s >= j) by summing over N."""
    tail = np.array([1.0, *chances, 0.0])
    mass = tail[:-1] - tail[1:]
    k = np.arange(len(mass))
    return [float((mass * binom.sf(j - 1, k, share)).sum()) for j in range(1, len(chances) + 1)]


def test_half_of_one_certain_instance_is_needed_half_of_the_time() -> None:
    assert thinned(levels([1.0]), 0.5).p.tolist() == [0.5]


def test_half_of_two_certain_instances_is_binomial() -> None:
    assert thinned(levels([1.0, 1.0]), 0.5).p.tolist() == [0.75, 0.25]


@given(
    st.lists(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=9), min_size=1, max_size=6),
    st.floats(0, 1),
)
@settings(max_examples=80, deadline=None)
def test_thinning_is_what_summing_over_all_counts_gives(functions: list[list[float]], share: float) -> None:
    falling = [sorted(one, reverse=True) for one in functions]
    split = thinned(levels(*falling), np.full(len(falling), share))

    expected = [p for one in falling for p in by_enumeration(one, share)]
    assert split.p == pytest.approx(expected, abs=2e-6)
    assert thinned(levels(*falling), share).p == pytest.approx(split.p, abs=1e-6)


def test_a_poisson_need_thins_to_a_poisson_need() -> None:
    tail: FloatArray = poisson.sf(np.arange(40), 9.0)
    split = thinned(levels(tail.tolist()), 0.3)

    assert split.p == pytest.approx(poisson.sf(np.arange(40), 2.7), abs=1e-6)


def test_functions_of_many_instances_are_split_in_proportion() -> None:
    split = thinned(levels([1.0] * 80 + [0.2] * 20), np.array([0.5]))

    assert len(split.p) > EXACT_UP_TO
    assert split.p[:40].tolist() == [1.0] * 40
    assert split.p[40:50] == pytest.approx([0.2] * 10)
    assert not split.p[50:].any()


def test_all_of_the_calls_are_the_whole_and_none_are_nothing() -> None:
    whole = levels([0.9, 0.4], [0.3], [1.0] * 70)

    assert thinned(whole, 1.0).p == pytest.approx(whole.p)
    assert not thinned(whole, 0.0).p.any()


def test_places_are_functions_of_their_own() -> None:
    split = by_place(levels([1.0, 1.0], [0.8]), np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]))

    assert split.row.tolist() == [0, 0, 2, 2, 4]
    assert split.level.tolist() == [1, 2, 1, 2, 1]
    assert split.p == pytest.approx([0.75, 0.25, 0.75, 0.25, 0.8])


def test_rows_of_keeps_the_pairs_of_the_chosen_functions() -> None:
    kept = rows_of(levels([0.9, 0.4], [0.3], [0.2]), np.array([0, 2]), 3)

    assert (kept.row.tolist(), kept.level.tolist()) == ([0, 0, 2], [1, 2, 1])


def test_the_least_cost_is_that_of_the_newsvendors_number() -> None:
    whole = levels([0.9, 0.3, 0.05], [0.02])
    cold, idle = np.array([0.8, 0.8]), np.array([0.1, 0.1])
    target, _ = pool_target(whole, threshold(cold, idle))

    assert target.tolist() == [2, 0]
    assert least_cost(whole, cold, idle) == pytest.approx([0.1 * (0.1 + 0.7) + 0.8 * 0.05, 0.8 * 0.02], rel=1e-5)


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=8), st.floats(0.05, 0.95), st.floats(0.01, 1.0))
@settings(max_examples=100, deadline=None)
def test_pooling_never_costs_more_than_two_parts(chances: list[float], share: float, idle: float) -> None:
    whole = levels(sorted(chances, reverse=True))
    prices = (np.array([0.808]), np.array([idle]))
    parts = least_cost(thinned(whole, share), *prices) + least_cost(thinned(whole, 1 - share), *prices)

    assert parts[0] >= least_cost(whole, *prices)[0] - 1e-5


def test_no_functions_are_no_error() -> None:
    empty = levels()

    assert len(thinned(empty, 0.5).p) == 0
    assert len(by_place(empty, np.zeros((0, 2))).p) == 0
