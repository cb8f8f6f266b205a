"""The agenda: what is due, in which order, and that time only goes forward."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.sim.events import Agenda, next_tick, tick_at_or_after


def test_events_come_in_time_and_then_in_the_order_they_were_put() -> None:
    agenda = Agenda()
    for at, who in ((5.0, 1), (2.0, 2), (5.0, 3), (2.0, 4)):
        agenda.put(at, who)
    taken = [agenda.take(math.inf) for _ in range(4)]
    assert taken == [(2.0, 2), (2.0, 4), (5.0, 1), (5.0, 3)]
    assert agenda.now_s == 5.0
    assert agenda.take(math.inf) is None


def test_what_is_due_later_stays_and_the_clock_waits() -> None:
    agenda = Agenda()
    agenda.put(10.0, 0)
    assert agenda.take(9.0) is None
    assert agenda.now_s == 0.0
    assert agenda.take(10.0) == (10.0, 0)


@pytest.mark.parametrize("at", [4.9, math.nan, -math.inf])
def test_the_past_cannot_be_ordered(at: float) -> None:
    agenda = Agenda(now_s=5.0)
    with pytest.raises(ValueError, match="before the clock"):
        agenda.put(at, 0)


def test_never_is_not_kept() -> None:
    agenda = Agenda()
    agenda.put(math.inf, 0)
    assert agenda.take(math.inf) is None


@pytest.mark.parametrize(
    ("now", "after", "from_now"),
    [(0.0, 2.0, 0.0), (0.1, 2.0, 2.0), (1.9999999999, 4.0, 2.0), (2.0, 4.0, 2.0), (7.3, 8.0, 8.0)],
)
def test_ticks_lie_on_a_grid(now: float, after: float, from_now: float) -> None:
    assert next_tick(now, 2.0) == after
    assert tick_at_or_after(now, 2.0) == from_now


def test_no_tick_is_at_infinity() -> None:
    assert tick_at_or_after(math.inf, 2.0) == math.inf


@given(st.lists(st.floats(0, 1e6), max_size=50))
def test_the_clock_never_goes_back(moments: list[float]) -> None:
    agenda = Agenda()
    for who, at in enumerate(moments):
        agenda.put(at, who)
    seen = []
    while (event := agenda.take(math.inf)) is not None:
        seen.append(event[0])
    assert seen == sorted(moments)
