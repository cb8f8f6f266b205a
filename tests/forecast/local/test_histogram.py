"""Idle times counted over many functions at once equal those counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prewarm.domain import FloatArray
from prewarm.forecast.local.histogram import call_gaps, idle_age, idle_table

CELL = st.one_of(st.just(np.nan), st.sampled_from([0.0, 0.0, 1.0, 5.0]))
VALUES = arrays(np.float64, st.tuples(st.integers(0, 4), st.integers(0, 30)), elements=CELL)


def gaps_by_hand(counts: FloatArray) -> list[int]:
    found, last = [], None
    for t, value in enumerate(counts):
        if np.isnan(value):
            last = None
        elif value > 0:
            if last is not None:
                found.append(t - last)
            last = t
    return found


@given(VALUES)
def test_gaps_are_those_of_each_function_and_never_bridge_the_unknown(values: FloatArray) -> None:
    row, gap = call_gaps(values)
    for i, counts in enumerate(values):
        assert gap[row == i].tolist() == gaps_by_hand(counts)


@given(VALUES, st.integers(1, 10))
def test_the_table_holds_every_gap_inside_or_beyond(values: FloatArray, range_steps: int) -> None:
    table = idle_table(values, range_steps)
    for i, counts in enumerate(values):
        gaps = gaps_by_hand(counts)
        assert table.counts[i].tolist() == [float(gaps.count(g)) for g in range(1, range_steps + 1)]
        assert table.beyond[i] == sum(g > range_steps for g in gaps)


@pytest.mark.parametrize(
    ("counts", "age"),
    [
        pytest.param([1.0, 0.0, 0.0], 2, id="silent-for-two"),
        pytest.param([0.0, 1.0], 0, id="just-called"),
        pytest.param([0.0, 0.0, 0.0], 3, id="never-called"),
        pytest.param([1.0, np.nan, 0.0], 1, id="unknown-is-no-silence"),
        pytest.param([np.nan, np.nan], 0, id="nothing-known"),
        pytest.param([], 0, id="empty"),
    ],
)
def test_the_idle_age_counts_known_silent_steps(counts: list[float], age: int) -> None:
    assert idle_age(np.array([counts], dtype=np.float64)).tolist() == [float(age)]


def test_exposure_counts_how_often_an_age_was_reached_the_running_one_included() -> None:
    table = idle_table(np.array([[1.0, 1.0, 0.0, 1.0, 0.0, 0.0]]), 4)
    assert table.counts.tolist() == [[1.0, 1.0, 0.0, 0.0]]
    assert table.exposed().tolist() == [[3.0, 2.0, 0.0, 0.0]]


def test_a_function_never_called_has_no_exposure() -> None:
    assert not idle_table(np.zeros((1, 9)), 4).exposed().any()
