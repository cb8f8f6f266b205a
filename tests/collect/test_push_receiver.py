"""What a gateway says becomes minutes; what it does not say stays unknown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.collect.push import ClockDoubtError, Event, PushReceiver
from prewarm.domain import FloatArray, FunctionKey
from prewarm.history import History, Retention

MINUTE = 30_000_000
NOW = (MINUTE + 1) * 60.0
A, B = FunctionKey("shop/a"), FunctionKey("shop/b")


def receiver() -> tuple[PushReceiver, History]:
    history = History(Retention(), MINUTE - 60)
    return PushReceiver(history), history


def counts(history: History, minutes: int = 1, until: int = MINUTE + 1) -> list[list[float]]:
    rows = np.arange(len(history), dtype=np.int32)
    found: FloatArray = history.dense(rows, until, minutes=minutes)
    return [list(row) for row in found]


def test_a_function_that_its_source_leaves_out_had_no_calls() -> None:
    push, history = receiver()
    push.accept("g", [Event(A, NOW - 120, 60, 3), Event(B, NOW - 120, 60, 1)], now=NOW)
    push.accept("g", [Event(A, NOW - 60, 60, 5)], now=NOW)
    assert counts(history, 2) == [[3, 5], [1, 0]]


def test_a_function_of_a_silent_source_is_unknown() -> None:
    push, history = receiver()
    push.accept("left", [Event(A, NOW - 120, 60, 3)], now=NOW)
    push.accept("right", [Event(B, NOW - 60, 60, 1)], now=NOW)
    assert np.isnan(counts(history, 1)[0][0])
    assert counts(history, 1)[1] == [1]


def test_a_window_over_three_minutes_is_shared_out_by_time() -> None:
    push, history = receiver()
    push.accept("g", [Event(A, NOW - 150, 120, 12)], now=NOW)
    assert counts(history, 3) == [[3, 6, 3]]


@pytest.mark.parametrize(
    ("event", "running"),
    [
        (Event(A, 0.0, 60, 12, concurrency_mean=0.4), 0.4),
        (Event(A, 0.0, 60, 12, duration_ms_mean=5_000.0), 1.0),
        (Event(A, 0.0, 10, 4, duration_ms_mean=5_000.0), 2.0),
        (Event(A, 0.0, 60, 0), 0.0),
    ],
)
def test_running_calls_are_told_or_follow_from_the_duration(event: Event, running: float) -> None:
    assert event.concurrency == pytest.approx(running)


def test_a_count_without_a_duration_leaves_the_running_calls_unknown() -> None:
    push, history = receiver()
    push.accept("g", [Event(A, NOW - 60, 60, 12), Event(B, NOW - 60, 60, 6, 0.5)], now=NOW)
    running = history.dense(np.arange(2, dtype=np.int32), MINUTE + 1, minutes=1, quantity="concurrency")
    assert np.isnan(running[0, 0])
    assert running[1, 0] == pytest.approx(0.5)
    assert counts(history) == [[12], [6]]


def test_a_clock_in_doubt_takes_nothing() -> None:
    push, history = receiver()
    push.accept("g", [Event(A, NOW - 60, 60, 3)], now=NOW)
    with pytest.raises(ClockDoubtError, match="jumped forward"):
        push.accept("g", [Event(B, NOW + 90_000, 60, 3)], now=NOW + 90_060)
    assert list(history.keys) == ["shop/a"]


@given(st.lists(st.tuples(st.integers(0, 599), st.integers(1, 300), st.integers(0, 1_000)), max_size=20))
def test_no_call_is_lost_or_invented_in_the_sharing(windows: list[tuple[int, int, int]]) -> None:
    push, history = receiver()
    events = [Event(A, NOW - 900 + start, window, count) for start, window, count in windows]
    receipt = push.accept("g", events, now=NOW)
    assert receipt.accepted == len(events)
    total = np.nansum(counts(history, 16)) if events else 0
    assert total == pytest.approx(sum(count for _, _, count in windows), rel=1e-5)
