"""Our clock jumps: nothing is lost, nothing is read as zero, and what the clock said falsely is forgotten again."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.history import DATA_STATES, History, Retention
from tests.store.counting import batch

START = 1_000_020
DAY = 1440


def busy_history(until: int) -> History:
    """Two functions called five times a minute up to (not including) `until`."""
    history = History(Retention(), START)
    for name in ("cart", "stock"):
        history.index(f"shop/{name}")
    for minute in range(START, until):
        assert history.observe(batch(minute, {0: 5.0, 1: 5.0}), now_minute=minute) is None
    return history


def states(history: History, now_minute: int) -> list[str]:
    codes, _ = history.data_state(now_minute * 60.0)
    return [DATA_STATES[code].value for code in codes]


@pytest.mark.parametrize(
    "jump", [3 * DAY, -3 * DAY, 61, -40], ids=["days-ahead", "days-back", "hour-ahead", "past-late"]
)
def test_a_short_jump_of_the_clock_loses_nothing(jump: int) -> None:
    history = busy_history(START + 60)
    for minute in range(START + 60, START + 70):
        reason = history.observe(batch(minute + jump, {0: 1.0}), now_minute=minute + jump)
        assert reason is not None and reason.startswith("our clock jumped")
    assert history.observe(batch(START + 70, {0: 9.0}), now_minute=START + 70) is None
    dense = history.dense(np.array([0], np.int32), START + 71, minutes=71)[0]
    assert (dense[:60] == 5).all()
    assert np.isnan(dense[60:70]).all()
    assert dense[70] == 9


def test_a_clock_that_is_ahead_makes_functions_stale_and_never_idle() -> None:
    history = busy_history(START + 60)
    history.advance(START + 60 + DAY)
    assert states(history, START + 60 + DAY) == ["stale", "stale"]
    assert history.sparse(START + 60, 60).hit_count.sum() == 600


def test_a_lasting_step_forward_is_believed_and_the_time_between_is_unknown() -> None:
    history = busy_history(START + 60)
    new = START + 60 + 2 * 60
    taken = [history.observe(batch(new + wait, {0: 2.0}), now_minute=new + wait) is None for wait in range(20)]
    assert taken == [False] * 15 + [True] * 5
    dense = history.dense(np.array([0], np.int32), new + 20, minutes=200)[0]
    assert (dense[:60] == 5).all()
    assert np.isnan(dense[60:195]).all()
    assert (dense[195:] == 2).all()


def test_a_lasting_step_back_is_believed_and_the_false_future_forgotten() -> None:
    history = busy_history(START + 300)
    true_now = START + 100
    taken = [
        history.observe(batch(true_now + wait, {0: 7.0}), now_minute=true_now + wait) is None for wait in range(20)
    ]
    assert taken == [False] * 15 + [True] * 5
    now = true_now + 20
    assert states(history, now) == ["ok", "ok"]
    view = history.sparse(now, 300)
    assert view.hit_minute.max() < now
    assert (view.hit_count[view.indptr[0] : view.indptr[1]] == [5.0] * 115 + [7.0] * 5).all()


def test_a_function_seen_only_in_the_false_future_was_never_seen() -> None:
    history = busy_history(START + 300)
    history.index("shop/new")
    assert history.observe(batch(START + 300, {2: 1.0}), now_minute=START + 300) is None
    for wait in range(16):
        history.advance(START + 100 + wait)
    assert states(history, START + 115) == ["ok", "ok", "none"]
    assert history.sparse(START + 115, 60).since.tolist() == [START, START, START + 115]


def test_a_source_with_a_fast_clock_is_refused_with_the_reason_and_does_no_harm() -> None:
    history = busy_history(START + 5)
    assert history.observe(batch(START + 5, {0: 1.0}), now_minute=START + 4) is None
    reason = history.observe(batch(START + 90, {0: 1.0}), now_minute=START + 5)
    assert reason == "5100 s ahead of our clock, retention.future_s is 60"
    assert history.observe(batch(START + 6, {0: 1.0}), now_minute=START + 6) is None


def test_late_counts_are_merged_and_later_ones_refused() -> None:
    history = busy_history(START + 60)
    assert history.observe(batch(START + 45, {0: 2.0}), now_minute=START + 60) is None
    reason = history.observe(batch(START + 44, {0: 2.0}), now_minute=START + 60)
    assert reason == "older than retention.late_s (900)"
    assert history.dense(np.array([0], np.int32), START + 46, minutes=2).tolist() == [[5.0, 7.0]]
