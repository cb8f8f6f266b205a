"""What was kept warm meets what was needed, beside KA-10, by the rules of protocol A."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import FloatArray
from prewarm.loop.track import UNKNOWN, FleetMinute, Outlook, Track

START = 30_000_000


def outlook(n: int) -> Outlook:
    return Outlook(np.full(n, 0.5), np.zeros(n, np.int32), np.ones(n, np.int32))


def live(track: Track, warm: list[list[int]], used: list[list[float]], memory_gb: FloatArray) -> list[FleetMinute]:
    """Decide and need, minute after minute."""
    closed = []
    for offset, (kept, needed) in enumerate(zip(warm, used, strict=True)):
        track.decided(START + offset, np.array(kept, np.int32), outlook(len(kept)))
        row = track.needed(START + offset, np.array(needed), memory_gb)
        assert row is not None
        closed.append(row)
    return closed


def test_a_cold_start_is_held_for_its_whole_minute() -> None:
    track = Track()
    (minute,) = live(track, [[1]], [[1.5]], np.array([2.0]))
    assert (minute.need, minute.cold, minute.cold_ka10) == (2, 1, 2)
    # ours: 1 warm + 1 cold - 1.5 used; KA-10: 0 warm + 2 cold - 1.5 used; 60 s of 2 GB each
    assert minute.waste_gb_s == pytest.approx(60.0)
    assert minute.waste_ka10_gb_s == pytest.approx(60.0)


def test_ka10_keeps_the_largest_need_of_ten_minutes_and_then_lets_go() -> None:
    track = Track()
    used = [[2.6]] + [[0.0]] * 11
    closed = live(track, [[0]] * 12, used, np.array([1.0]))
    assert [minute.warm_ka10 for minute in closed] == [0, *[3] * 10, 0]
    assert [minute.waste_ka10_gb_s for minute in closed[1:]] == [*[180.0] * 10, 0.0]


def test_a_minute_that_is_not_known_counts_for_nobody() -> None:
    track = Track()
    closed = live(track, [[2, 0]] * 2, [[1.0, np.nan], [np.nan, np.nan]], np.ones(2))
    assert [minute.known for minute in closed] == [1, 0]
    assert closed[1].waste_gb_s == closed[1].waste_ka10_gb_s == 0.0
    assert track.need[START % track.width, :2].tolist() == [1, UNKNOWN]


def test_a_minute_is_closed_once() -> None:
    track = Track()
    live(track, [[0]], [[1.0]], np.ones(1))
    assert track.needed(START, np.array([1.0]), np.ones(1)) is None
    assert track.score.cold[0] == 1


def test_new_functions_leave_the_past_of_the_old_ones() -> None:
    track = Track()
    live(track, [[1]] * 3, [[1.0]] * 3, np.ones(1))
    track.decided(START + 3, np.ones(5_000, np.int32), outlook(5_000))
    assert track.width < 1_440
    minutes = track.minutes(START + 3, 10)
    assert minutes.tolist() == [START, START + 1, START + 2, START + 3]
    assert track.need[minutes % track.width, 0].tolist() == [1, 1, 1, UNKNOWN]
    assert track.score.cold[:1].tolist() == [0]


@given(
    st.lists(st.lists(st.floats(0, 5), min_size=3, max_size=3), min_size=1, max_size=30),
    st.lists(st.integers(0, 4), min_size=3, max_size=3),
)
def test_the_fleet_is_the_sum_of_its_functions(used: list[list[float]], kept: list[int]) -> None:
    track = Track()
    closed = live(track, [kept] * len(used), used, np.array([0.1, 0.5, 1.0]))
    assert sum(minute.cold for minute in closed) == track.score.cold.sum()
    assert sum(minute.cold_ka10 for minute in closed) == track.score.cold_ka10.sum()
    assert sum(minute.waste_gb_s for minute in closed) == pytest.approx(track.score.waste_gb_s.sum())
    assert all(minute.waste_gb_s >= 0 for minute in closed)
