"""The worker's copy of the recent hits: equal to the history whatever was missed, late or repeated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.forecast.replica import Behind, Question, Replica, sparse_history
from prewarm.history.view import HitView

Hits = dict[tuple[int, int], float]  # (function, minute) -> count


def view(hits: Hits, now: int, functions: int, *, first: int = 0) -> HitView:
    """All hits in [first, now) in compressed rows."""
    chosen = sorted(key for key in hits if first <= key[1] < now)
    rows = np.array([row for row, _ in chosen], np.int64)
    pointer = np.searchsorted(rows, np.arange(functions + 1)).astype(np.int64)
    count = np.array([hits[key] for key in chosen], np.float32)
    minute = np.array([minute for _, minute in chosen], np.int32)
    return HitView(minute, count, count * np.float32(0.5), pointer, np.zeros(functions, np.int32), now)


def question(hits: Hits, now: int, functions: int, *, first: int, close: int, window: int = 50) -> Question:
    """Asked at `now` with everything since `first`."""
    return Question(view(hits, now, functions, first=first), first, close, np.ones(functions), window)


def whole(copy: Replica, asked: Question) -> HitView | Behind:
    """The answer about all functions at once."""
    parts = copy.in_parts(asked, blocks=64)
    return parts if isinstance(parts, Behind) else next(parts)


def same(answer: HitView | Behind, expected: HitView) -> bool:
    """Whether the answer holds exactly these hits."""
    assert isinstance(answer, HitView)
    return all(
        np.array_equal(getattr(answer, name), getattr(expected, name))
        for name in ("hit_minute", "hit_count", "hit_concurrency", "indptr")
    )


def test_an_empty_copy_says_that_it_is_behind_and_answers_once_it_is_loaded() -> None:
    """What was loaded and what is still open together are the window."""
    hits: Hits = {(0, 3): 1.0, (1, 40): 2.0, (0, 97): 3.0, (0, 99): 4.0}
    copy = Replica()
    asked = question(hits, 100, 2, first=95, close=98)
    assert whole(copy, asked) == Behind(None)
    copy.load(view(hits, 100, 2, first=50), asked.close)
    assert same(whole(copy, asked), view(hits, 100, 2, first=50))


def test_a_copy_that_missed_minutes_says_how_far_it_reaches() -> None:
    """It never answers with a hole."""
    copy = Replica()
    copy.load(view({}, 100, 1), 98)
    assert whole(copy, question({}, 120, 1, first=115, close=118)) == Behind(98)


def test_a_late_count_replaces_what_the_open_minute_said() -> None:
    """Open minutes are read from the question alone."""
    hits: Hits = {(0, 98): 1.0}
    copy = Replica()
    copy.load(view({}, 100, 1), 95)
    assert same(whole(copy, question(hits, 100, 1, first=90, close=95)), view(hits, 100, 1))
    hits[0, 98], hits[0, 96] = 7.0, 2.0
    assert same(whole(copy, question(hits, 101, 1, first=91, close=96)), view(hits, 101, 1))


@given(
    st.dictionaries(st.tuples(st.integers(0, 1100), st.integers(0, 120)), st.floats(1, 9, width=32), max_size=80),
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
)
def test_asked_at_any_pace_it_equals_the_history(hits: Hits, steps: list[int]) -> None:
    """Loaded when behind, over more than one block of rows, hits older than the window dropped."""
    copy, now = Replica(), 10
    for step in steps:
        now += step
        asked = question(hits, now, 1101, first=now - 8, close=now - 4)
        answer = whole(copy, asked)
        if isinstance(answer, Behind):
            copy.load(view(hits, now, 1101, first=now - 50), asked.close)
            answer = whole(copy, asked)
        assert same(answer, view(hits, now, 1101, first=now - 50))


def test_needs_follow_from_what_runs_and_what_an_instance_serves() -> None:
    """12 running calls on instances of 5 are 3; unknown concurrency is one; marks prefer what runs."""
    told = HitView(
        np.array([1, 2, 3], np.int32),
        np.array([9.0, 4.0, 2.0], np.float32),
        np.array([12.0, np.nan, 0.01], np.float32),
        np.array([0, 3], np.int64),
        np.zeros(1, np.int32),
        5,
    )
    history = sparse_history(told, np.array([5.0]))
    assert history.hit_need.tolist() == [3, 1, 1]
    assert history.marks.tolist() == pytest.approx([12.0, 4.0, 0.01])


@given(
    st.dictionaries(st.tuples(st.integers(0, 2600), st.integers(0, 120)), st.floats(1, 9, width=32), max_size=80),
    st.integers(1, 2600),
    st.integers(1, 4),
)
def test_parts_put_together_are_the_whole(hits: Hits, functions: int, blocks: int) -> None:
    """However many blocks are read at a time, every function's hits are there once, in order."""
    hits = {key: count for key, count in hits.items() if key[0] < functions}
    copy = Replica()
    copy.load(view(hits, 110, functions), 100)
    asked = question(hits, 115, functions, first=90, close=100, window=200)
    parts = copy.in_parts(asked, blocks)
    assert not isinstance(parts, Behind)
    found = list(parts)
    expected = view(hits, 115, functions)
    assert sum(len(part) for part in found) == functions
    assert np.concatenate([part.hit_minute for part in found]).tolist() == expected.hit_minute.tolist()
    assert np.concatenate([np.diff(part.indptr) for part in found]).tolist() == np.diff(expected.indptr).tolist()
