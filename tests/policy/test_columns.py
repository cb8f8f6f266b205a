"""Settings to columns: patterns, windows over midnight and clock changes, what is assumed."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from prewarm.policy.columns import MIB_IN_GB, UNBOUNDED, Measured, compile_policy, is_open
from prewarm.settings import FunctionPolicy, Settings, Window


def at(text: str) -> float:
    """Seconds of an ISO time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def unknown(size: int) -> Measured:
    """Nothing measured."""
    return Measured(np.full(size, np.nan), np.full(size, np.nan))


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-11-30T07:59:00", False),
        ("2026-11-30T08:00:00", True),
        ("2026-11-30T19:59:59", True),
        ("2026-11-30T20:00:00", False),
        ("2026-12-05T10:00:00", False),
    ],
    ids=["before", "opens", "last second", "closes", "saturday"],
)
def test_a_window_on_weekdays(moment: str, expected: bool) -> None:
    """Monday to Friday from 8 to 20 in UTC."""
    window = Window(days=(0, 1, 2, 3, 4), start_minute=480, end_minute=1200)
    assert is_open(window, at(moment)) is expected


@pytest.mark.parametrize(
    ("moment", "expected"),
    [("2026-12-04T23:30:00", True), ("2026-12-05T01:30:00", True), ("2026-12-05T23:30:00", False)],
    ids=["friday night", "into saturday", "saturday night"],
)
def test_a_window_over_midnight_belongs_to_the_day_it_starts(moment: str, expected: bool) -> None:
    """Fridays from 22 to 2."""
    assert is_open(Window(days=(4,), start_minute=1320, end_minute=120), at(moment)) is expected


def test_a_window_follows_the_wall_clock_through_a_clock_change() -> None:
    """Nine in Berlin is 8 UTC in winter and 7 UTC in summer."""
    window = Window(start_minute=540, end_minute=541, zone="Europe/Berlin")
    assert is_open(window, at("2026-01-15T08:00:30"))
    assert is_open(window, at("2026-07-15T07:00:30"))
    assert not is_open(window, at("2026-07-15T08:00:30"))


def test_the_last_matching_entry_speaks() -> None:
    """A pattern first, one function after it."""
    settings = Settings(function=(FunctionPolicy("shop/*", min=1), FunctionPolicy("shop/cart", min=4, max=9)))
    table = compile_policy(
        ["shop/cart", "shop/list", "blog/feed"], settings.policy_of, unknown(3), step_s=60, default_start_s=2.0
    )
    assert table.columns.minimum.tolist() == [4, 1, 0]
    assert table.columns.maximum.tolist() == [9, UNBOUNDED, UNBOUNDED]


def test_an_open_window_replaces_the_plain_bounds_and_a_closed_one_does_not() -> None:
    """Floor 5 in the morning, 1 otherwise."""
    entry = FunctionPolicy("*", min=1, max=3, windows=(Window(start_minute=360, end_minute=720, min=5),))
    table = compile_policy(["a/b"], lambda _: entry, unknown(1), step_s=60, default_start_s=2.0)
    morning, night = table.at(at("2026-11-30T07:00:00")), table.at(at("2026-11-30T03:00:00"))
    assert (morning.minimum.tolist(), morning.maximum.tolist()) == ([5], [5])
    assert (night.minimum.tolist(), night.maximum.tolist()) == ([1], [3])


def test_unknown_memory_is_the_fleets_median_and_says_so() -> None:
    """Two known at 100 and 300 MiB, the third assumed."""
    measured = Measured(np.array([100.0, 300.0, np.nan]), np.array([1.0, np.nan, np.nan]))
    table = compile_policy(["a/a", "a/b", "a/c"], lambda _: FunctionPolicy(), measured, step_s=60, default_start_s=2.0)
    assert table.columns.memory_assumed.tolist() == [False, False, True]
    assert table.columns.memory_gb[2] == pytest.approx(200 * MIB_IN_GB)
    assert table.columns.start_s.tolist() == [1.0, 2.0, 2.0]


def test_the_idle_price_is_for_one_step() -> None:
    """RUM charges a 0.15 GB instance 60 x 0.15 / 99.69 a minute."""
    entry = FunctionPolicy(memory_mib=0.15 / MIB_IN_GB)
    table = compile_policy(["a/a"], lambda _: entry, unknown(1), step_s=60, default_start_s=2.0)
    assert table.columns.idle_cost[0] == pytest.approx(60 * 0.15 / 99.69)
