"""What a history says of silence, of partial answers and of repeated reports."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.history import DATA_STATES, History, MinuteBatch, Retention
from prewarm.history.batch import Repeat

START = 1_000_020


def rows(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(numbers, np.int32)


def batch(
    minute: int, counts: dict[int, float], *, known: list[int] | None = None, repeat: Repeat = "sum"
) -> MinuteBatch:
    count = np.array(list(counts.values()), np.float32)
    return MinuteBatch(minute, rows(*counts), count, known=None if known is None else rows(*known), repeat=repeat)


def history_of(*names: str, retention: Retention | None = None) -> History:
    history = History(retention or Retention(), START)
    for name in names:
        history.index(name)
    return history


def state(history: History, now_minute: float) -> list[tuple[str, float]]:
    codes, age_s = history.data_state(now_minute * 60)
    return [(DATA_STATES[code].value, float(age)) for code, age in zip(codes, age_s, strict=True)]


def test_an_index_is_stable_and_given_once() -> None:
    history = history_of("a/x", "a/y")
    assert [history.index(name) for name in ("a/y", "a/z", "a/x")] == [1, 2, 0]
    assert list(history.keys) == ["a/x", "a/y", "a/z"]


def test_a_function_that_nobody_looked_at_is_not_idle() -> None:
    history = history_of("a/x", "a/y", "a/z")
    history.observe(batch(START, {0: 3.0}, known=[0, 1]), now_minute=START)
    np.testing.assert_array_equal(history.dense(rows(0, 1, 2), START + 1, minutes=1), [[3], [0], [np.nan]])
    assert state(history, START + 1) == [("ok", 0.0), ("ok", 0.0), ("none", np.inf)]


def test_ten_empty_answers_leave_a_gap_and_the_level_unchanged() -> None:
    # prom-02: 8 warm, ten polls without a result, then one value
    history = history_of("shop/cart")
    for minute in range(20):
        history.observe(batch(START + minute, {0: 8.0}), now_minute=START + minute)
    for minute in range(20, 30):
        history.observe(batch(START + minute, {}, known=[]), now_minute=START + minute)
    assert state(history, START + 30) == [("stale", 600.0)]
    history.observe(batch(START + 30, {0: 8.2}), now_minute=START + 30)
    dense = history.dense(rows(0), START + 31, minutes=31)[0]
    assert np.isnan(dense).sum() == 10
    assert np.nanmean(dense) == pytest.approx(8, abs=0.1)


def test_a_partial_answer_is_marked_and_kept_as_a_lower_bound() -> None:
    # prom-04: 100, then three partial answers of 40, then 100 again
    history = history_of("cart", "other")
    history.observe(batch(START, {0: 100.0, 1: 1.0}), now_minute=START)
    for minute in range(1, 4):
        history.observe(batch(START + minute, {0: 40.0}, known=[1]), now_minute=START + minute)
    assert state(history, START + 4) == [("partial", 180.0), ("ok", 0.0)]
    assert np.isnan(history.dense(rows(0), START + 4, minutes=3)).all()
    assert history.sparse(START + 4, 10).hit_count.tolist() == [100, 40, 40, 40, 1]
    history.observe(batch(START + 4, {0: 100.0}), now_minute=START + 4)
    assert state(history, START + 5) == [("ok", 0.0), ("ok", 0.0)]


def test_partial_minutes_do_not_pull_an_hour_down() -> None:
    history = history_of("cart")
    for minute in range(60):
        partial = minute % 3 == 0
        counts = {0: 40.0 if partial else 100.0}
        history.observe(batch(START + minute, counts, known=[] if partial else None), now_minute=START + minute)
    history.advance(START + 119)
    assert history.dense(rows(0), START + 60, minutes=60, step_minutes=60).tolist() == [[6000.0]]


def test_a_step_known_for_less_than_half_is_unknown() -> None:
    history = history_of("cart")
    for minute in range(29):
        history.observe(batch(START + minute, {0: 1.0}), now_minute=START + minute)
    assert np.isnan(history.dense(rows(0), START + 60, minutes=60, step_minutes=60)).all()
    history.observe(batch(START + 29, {0: 1.0}), now_minute=START + 29)
    assert history.dense(rows(0), START + 60, minutes=60, step_minutes=60).tolist() == [[60.0]]


@pytest.mark.parametrize(
    ("repeat", "expected"), [("sum", 24.0), ("max", 14.0)], ids=["two-gateways-add-up", "a-second-reading-replaces"]
)
def test_a_minute_reported_twice(repeat: Repeat, expected: float) -> None:
    history = history_of("a/x")
    for count in (10.0, 14.0):
        history.observe(batch(START, {0: count}, repeat=repeat), now_minute=START)
    assert history.dense(rows(0), START + 1, minutes=1).tolist() == [[expected]]


def test_concurrency_without_calls_is_a_hit_and_unsaid_concurrency_is_unknown() -> None:
    history = history_of("a/long", "a/x")
    nothing = np.zeros(1, np.float32)
    history.observe(MinuteBatch(START, rows(0), nothing, np.array([0.5], np.float32)), now_minute=START)
    history.observe(batch(START + 1, {1: 3.0}), now_minute=START + 1)
    view = history.sparse(START + 2, 10)
    assert view.hit_minute.tolist() == [START, START + 1]
    np.testing.assert_array_equal(view.hit_concurrency, [0.5, np.nan])
    dense = history.dense(rows(0, 1), START + 2, minutes=2, quantity="concurrency")
    np.testing.assert_array_equal(dense, [[0.5, 0], [0, np.nan]])


@pytest.mark.parametrize("order", [(None, 0.7), (0.7, None)], ids=["said-second", "said-first"])
def test_a_second_reading_that_knows_the_concurrency_tells_it(order: tuple[float | None, ...]) -> None:
    history = history_of("a/x")
    for said in order:
        concurrency = None if said is None else np.array([said], np.float32)
        one = MinuteBatch(START, rows(0), np.array([5], np.float32), concurrency, repeat="max")
        history.observe(one, now_minute=START)
    assert history.sparse(START + 1, 10).hit_concurrency.tolist() == [np.float32(0.7)]


def test_a_new_function_is_unknown_before_its_first_minute() -> None:
    history = history_of("a/x")
    history.observe(batch(START, {0: 1.0}), now_minute=START)
    history.index("a/new")
    history.observe(batch(START + 1, {0: 1.0}), now_minute=START + 1)
    np.testing.assert_array_equal(history.dense(rows(0, 1), START + 2, minutes=2), [[1, 1], [np.nan, 0]])
    assert history.sparse(START + 2, 10).since.tolist() == [START, START + 1]


def test_minutes_age_to_five_minutes_and_hours_and_then_go() -> None:
    retention = Retention(minute_days=0.25, five_minute_days=0.5, hour_days=1)
    history = history_of("a/x", retention=retention)
    days = 2 * 1440
    for minute in range(days):
        history.observe(batch(START + minute, {0: 1.0}), now_minute=START + minute)
    now = START + days
    by_minute = history.dense(rows(0), now, minutes=days)[0]
    by_five = history.dense(rows(0), now, minutes=days, step_minutes=5)[0]
    by_hour = history.dense(rows(0), now, minutes=days, step_minutes=60)[0]
    kept = [(now - START) - (first - START) for first in retention.first_minutes(now)]
    assert np.isfinite(by_minute).sum() == kept[0] == 360
    assert np.isfinite(by_five).sum() * 5 == kept[1] == 720
    assert np.isfinite(by_hour).sum() * 60 == kept[2] == 1440
    assert {*by_minute[-360:], *(by_five[-144:] / 5), *(by_hour[-24:] / 60)} == {1.0}
    held = [(tier.end - tier.start).sum() for tier in history.blocks[0].tiers]
    # a block ages on its turn, every two hours, and closed minutes trail by late_s
    assert 345 <= held[0] <= 480
    assert sum(held) < 700


def test_a_long_pause_is_a_gap_and_what_is_too_old_goes() -> None:
    history = history_of("a/x")
    history.observe(batch(START, {0: 1.0}), now_minute=START)
    later = START + 60 * 1440
    for minute in range(later, later + 200):
        history.observe(batch(minute, {0: 2.0}), now_minute=minute)
    view = history.sparse(later + 200, 2 * 1440)
    assert view.hit_count.tolist() == [2.0] * 185
    assert np.isnan(history.dense(rows(0), later, minutes=60, step_minutes=60)).all()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (MinuteBatch(START, rows(2), np.ones(1, np.float32)), r"rows: must be within 0\.\.1"),
        (MinuteBatch(START, rows(-1), np.ones(1, np.float32)), r"rows: must be within 0\.\.1"),
        (MinuteBatch(START, rows(0), np.ones(2, np.float32)), "count must have one value a row"),
        (MinuteBatch(START, rows(0), np.array([np.nan], np.float32)), "count must be finite and 0 or more"),
        (MinuteBatch(START, rows(0), np.ones(1, np.float32), -np.ones(1, np.float32)), "concurrency must be finite"),
        (MinuteBatch(START, rows(0), np.ones(1, np.float32), known=rows(5)), "known: must be within"),
        (MinuteBatch(START, rows(0).reshape(1, 1), np.ones((1, 1), np.float32)), "one-dimensional"),
    ],
    ids=["no-such-row", "negative-row", "lengths", "nan", "negative", "known", "shape"],
)
def test_a_malformed_batch_is_refused_and_changes_nothing(bad: MinuteBatch, words: str) -> None:
    history = history_of("a/x", "a/y")
    with pytest.raises(InputError, match=words):
        history.observe(bad, now_minute=START)
    assert np.isnan(history.dense(rows(0, 1), START + 1, minutes=1)).all()


def test_a_window_longer_than_the_minute_grain_is_refused() -> None:
    with pytest.raises(InputError, match=r"at most retention.minute_days \(2\)"):
        history_of("a/x").sparse(START, 2881)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"minute_days": 0}, "retention.minute_days: must be above 0"),
        ({"hour_days": float("inf")}, "retention.hour_days: must be above 0 and finite"),
        ({"minute_days": 41, "five_minute_days": 50, "hour_days": 60}, "at most 40"),
        ({"five_minute_days": 1}, "minute_days <= five_minute_days <= hour_days"),
    ],
    ids=["zero", "endless", "too-long", "out-of-order"],
)
def test_retention_refuses_what_contradicts_itself(settings: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Retention(**settings)
