"""The breaker's whole life, by a clock that the test moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.members import breaker
from federation.members.breaker import FIRST_PAUSE_S, LONGEST_PAUSE_S, THRESHOLD, Breaker


def lost(times: int, now: float = 100.0, spread: float = 0.0) -> Breaker:
    state = Breaker()
    for _ in range(times):
        state = breaker.failed(state, now, spread)
    return state


def test_it_stays_closed_until_the_threshold() -> None:
    state = lost(THRESHOLD - 1)
    assert state.retry_at is None
    assert breaker.admits(state, 100.0)


def test_it_opens_at_the_threshold_and_admits_nothing_until_the_pause_is_over() -> None:
    state = lost(THRESHOLD)
    assert state.retry_at == 100.0 + FIRST_PAUSE_S
    assert not breaker.admits(state, 100.9)
    assert breaker.admits(state, 101.0)


def test_half_open_lets_one_through_at_a_time() -> None:
    trying = breaker.entered(lost(THRESHOLD))
    assert trying.trying
    assert not breaker.admits(trying, 200.0)
    assert breaker.admits(breaker.left(trying), 200.0)


def test_an_answer_closes_it_and_forgets() -> None:
    assert breaker.answered() == Breaker()
    assert breaker.failed(breaker.answered(), 300.0, 0.0) == Breaker(1)


def test_a_failed_try_opens_it_for_twice_as_long() -> None:
    again = breaker.failed(breaker.entered(lost(THRESHOLD)), 101.0, 0.0)
    assert again == Breaker(THRESHOLD + 1, 101.0 + 2 * FIRST_PAUSE_S, trying=False)


def test_entering_a_closed_one_changes_nothing() -> None:
    assert breaker.entered(Breaker(1)) == Breaker(1)


PAUSES = [(0, 1.0), (1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 15.0), (99, 15.0)]


@pytest.mark.parametrize(("failures", "pause_s"), PAUSES)
def test_pauses_double_up_to_the_longest(failures: int, pause_s: float) -> None:
    assert breaker.pause_s(failures, 0.0) == pause_s


@given(failures=st.integers(1, 10_000), spread=st.floats(0, 1))
def test_pauses_are_spread_over_their_second_half(failures: int, spread: float) -> None:
    full = breaker.pause_s(failures, 0.0)
    assert full / 2 <= breaker.pause_s(failures, spread) <= full <= LONGEST_PAUSE_S


@given(st.lists(st.tuples(st.sampled_from(["fail", "answer", "leave"]), st.floats(0, 20)), max_size=60))
def test_whatever_happens_it_admits_again_after_the_longest_pause(events: list[tuple[str, float]]) -> None:
    state, now = Breaker(), 0.0
    for kind, wait in events:
        now += wait
        if not breaker.admits(state, now):
            continue
        state = breaker.entered(state)
        if kind == "fail":
            state = breaker.failed(state, now, 0.5)
        else:
            state = breaker.answered() if kind == "answer" else breaker.left(state)
    assert not state.trying
    assert breaker.admits(state, now + LONGEST_PAUSE_S)
