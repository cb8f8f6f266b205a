"""Bounds, steps, delay and budget, each alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import Int32Array
from prewarm.policy import bounds
from tests.policy.test_pool import table


def ints(*values: int) -> Int32Array:
    """A column of counts."""
    return np.array(values, dtype=np.int32)


@pytest.mark.parametrize(
    ("target", "low", "high", "expected"),
    [(3, 0, 10, 3), (3, 5, 10, 5), (30, 0, 10, 10), (3, 8, 2, 8)],
    ids=["inside", "floor", "ceiling", "floor beats ceiling"],
)
def test_clamp(target: int, low: int, high: int, expected: int) -> None:
    """The floor protects users, so it wins over a ceiling below it."""
    assert bounds.clamp(ints(target), ints(low), ints(high)).tolist() == [expected]


@pytest.mark.parametrize(
    ("target", "current", "expected"),
    [(10, 2, 5), (0, 9, 7), (4, 2, 4), (2, 2, 2)],
    ids=["growth", "fall", "small", "none"],
)
def test_steps_limit_both_directions(target: int, current: int, expected: int) -> None:
    """At most three up and two down."""
    assert bounds.limit_step(ints(target), ints(current), ints(3), ints(2)).tolist() == [expected]


def test_a_fall_waits_until_it_was_wanted_without_a_break() -> None:
    """Minutes pass by hand: wanted at 0 and 60, interrupted at 120, wanted again at 180, carried out at 300."""
    since, seen = np.array([np.nan]), []
    for now, wanted in ((0, 1), (60, 1), (120, 3), (180, 1), (240, 1), (300, 1)):
        kept, since = bounds.delay_fall(ints(wanted), ints(3), since, delay_s=np.array([120.0]), now=float(now))
        seen.append(int(kept[0]))
    assert seen == [3, 3, 3, 3, 3, 1]


def test_no_delay_falls_at_once() -> None:
    """The default delay of zero changes nothing."""
    kept, _ = bounds.delay_fall(ints(0), ints(3), np.array([np.nan]), delay_s=np.array([0.0]), now=5.0)
    assert kept.tolist() == [0]


def test_the_budget_lets_the_least_useful_go_first() -> None:
    """0.9 of 0.5 GB, 0.8 and 0.3 of 0.1 GB in 0.6 GB: the chance for each GB counts, so the two small ones stay."""
    kept = bounds.fit_budget(
        ints(1, 2),
        ints(0, 0),
        table([0.9], [0.8, 0.3]),
        value=np.array([0.808, 0.808]),
        memory_gb=np.array([0.5, 0.1]),
        budget_gb=0.65,
    )
    assert kept.tolist() == [0, 2]


def test_the_budget_never_takes_the_floor() -> None:
    """A floor above the budget is kept: the budget is a wish, the floor a promise."""
    kept = bounds.fit_budget(ints(4), ints(3), table([0.9] * 4), value=np.ones(1), memory_gb=np.ones(1), budget_gb=1.0)
    assert kept.tolist() == [3]


@given(
    target=st.lists(st.integers(0, 6), min_size=1, max_size=6),
    chance=st.floats(0.05, 0.95),
    budget=st.floats(0, 20),
)
def test_the_budget_holds_and_never_adds(target: list[int], chance: float, budget: float) -> None:
    """Whatever the demand: within the budget, and no function gets more than it asked for."""
    levels = table(*([chance ** (k + 1) for k in range(n)] for n in target))
    memory = np.linspace(0.1, 1.0, len(target))
    wanted = ints(*target)
    kept = bounds.fit_budget(
        wanted, np.zeros_like(wanted), levels, value=np.ones(len(target)), memory_gb=memory, budget_gb=budget
    )
    assert (kept <= wanted).all()
    assert float(kept @ memory) <= max(budget, 0) + 1e-9
