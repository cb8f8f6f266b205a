"""What the boosted trees see: the right numbers for small histories, and nothing from the future."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.domain import InputError
from prewarm.forecast.levels.feature_table import COLUMN, GROUPS, NAMES, STARTS, columns_of
from prewarm.forecast.levels.features import Questions, feature_rows, open_questions
from prewarm.forecast.levels.history_view import SparseHistory
from tests.forecast.levels.histories import Hits, history_of, timer


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compiles the kernels once, so that no single test is charged for it."""
    _seen([timer(5, 60)], 60)


def _seen(rows: list[Hits], now: int, *, since: int = 0, level: int = 1, ahead: int = 0) -> np.ndarray:
    history = history_of(rows, now, since)
    size = len(rows)
    asked = Questions(
        np.arange(size, dtype=np.int32),
        np.full(size, level, np.int32),
        np.full(size, now, np.int32),
        np.full(size, ahead, np.int32),
    )
    return feature_rows(history, asked)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("known_minutes", 60.0, id="known-since-the-first-minute"),
        pytest.param("hits", 12.0, id="hits"),
        pytest.param("rate", 0.2, id="rate"),
        pytest.param("age", 5.0, id="idle-age"),
        pytest.param("run", 0.0, id="not-in-a-run"),
        pytest.param("gap_1", 5.0, id="last-gap"),
        pytest.param("gap_mean", 5.0, id="mean-gap"),
        pytest.param("gap_sd", 0.0, id="no-spread"),
        pytest.param("mode_share", 1.0, id="one-gap-only"),
        pytest.param("hits_10", 2.0, id="hits-in-ten-minutes"),
        pytest.param("beyond", 11.0, id="gaps-that-reached-this-age"),
        pytest.param("hazard", (11 + 1 / 6) / 12, id="hazard-with-one-pseudo-trial"),
        pytest.param("order1_exact", (10 + 1 / 6) / 11, id="after-the-same-gap"),
        pytest.param("lag_5", 1.0, id="hit-five-minutes-ago"),
        pytest.param("lag_4", 0.0, id="none-four-minutes-ago"),
        pytest.param("step_5", 1.0, id="all-multiples-of-five"),
        pytest.param("evidence_period", 5.0, id="strongest-period"),
        pytest.param("evidence_share", 1.0, id="always-at-that-period"),
        pytest.param("mark_over_median", 1.0, id="the-usual-mark"),
        pytest.param("mark_cv", 0.0, id="marks-alike"),
    ],
)
def test_a_five_minute_timer_is_seen_as_one(name: str, value: float) -> None:
    assert _seen([timer(5, 60)], 60)[0, COLUMN[name]] == pytest.approx(value, rel=1e-5)


def test_a_timer_that_is_not_due_shows_no_hazard_and_its_period_does_not_align() -> None:
    seen = _seen([timer(5, 60)], 58)[0]
    assert seen[COLUMN["age"]] == 3
    assert seen[COLUMN["equal"]] == 0
    assert seen[COLUMN["step_5"]] == 0


def test_asking_ahead_counts_from_the_minute_asked_for() -> None:
    ahead = _seen([timer(5, 60)], 58, ahead=2)[0]
    assert ahead[COLUMN["step_5"]] == 1
    assert ahead[COLUMN["hazard"]] == pytest.approx((11 + 1 / 6) / 12)
    assert np.isnan(ahead[COLUMN["lag_2"]])


def test_a_function_without_hits_has_an_age_and_nothing_else() -> None:
    seen = _seen([[]], 100)[0]
    assert seen[COLUMN["age"]] == 101
    assert seen[COLUMN["hits"]] == 0
    assert np.isnan(seen[COLUMN["hazard"]])
    assert np.isnan(seen[COLUMN["mark_over_median"]])


def test_minutes_before_the_first_known_one_are_unknown_and_not_idle() -> None:
    seen = _seen([[(95, 1.0)]], 100, since=90)[0]
    assert seen[COLUMN["known_minutes"]] == 10
    assert seen[COLUMN["lag_9"]] == 0
    assert np.isnan(seen[COLUMN["lag_20"]])


def test_nothing_is_known_in_the_first_minute() -> None:
    assert np.isnan(_seen([[]], 0)[0]).all()


def test_two_timers_of_one_app_are_told_apart_by_their_marks() -> None:
    small, large = timer(4, 400, 0.1), [(minute + 2, 0.9) for minute, _ in timer(60, 400)]
    hits = sorted([*small, *large])
    due = _seen([hits], 422 - 60)[0]
    assert due[COLUMN["mark_chain_period"]] == 60
    assert due[COLUMN["mark_chain_value"]] == pytest.approx(9.0, rel=1e-4)


def test_the_second_level_looks_at_the_use_of_the_first() -> None:
    hits = [(minute, 0.4) for minute in range(90)] + [(minute, 0.8) for minute in range(90, 100)]
    seen = _seen([hits], 100, level=2)[0]
    assert seen[COLUMN["hits"]] == 0
    assert seen[COLUMN["use_1"]] == pytest.approx(0.8)
    assert seen[COLUMN["use_mean_10"]] == pytest.approx(0.8)
    assert seen[COLUMN["use_mean_60"]] == pytest.approx((50 * 0.4 + 10 * 0.8) / 60)
    assert np.isnan(_seen([hits], 100)[0, COLUMN["use_1"]])


def test_marks_count_only_relative_to_each_other() -> None:
    hits: Hits = [(minute, 0.1 + 0.05 * (minute % 3)) for minute in range(0, 200, 7)]
    scaled: Hits = [(minute, mark * 4) for minute, mark in hits]
    first, second = _seen([hits], 203)[0], _seen([scaled], 203)[0]
    np.testing.assert_allclose(first, second, rtol=1e-4)


minutes = st.lists(st.integers(0, 300), max_size=60, unique=True).map(sorted)


@settings(max_examples=40, deadline=None)
@given(past=minutes, later=minutes, now=st.integers(1, 300), ahead=st.integers(0, 14))
def test_hits_from_now_on_change_nothing(past: list[int], later: list[int], now: int, ahead: int) -> None:
    known: Hits = [(minute, 1.0) for minute in past if minute < now]
    more: Hits = [*known, *((minute, 2.0) for minute in later if minute >= now)]
    np.testing.assert_array_equal(_seen([known], now, ahead=ahead), _seen([more], now, ahead=ahead))


@settings(max_examples=40, deadline=None)
@given(past=minutes, shift=st.integers(0, 5000))
def test_the_clock_does_not_matter(past: list[int], shift: int) -> None:
    hits: Hits = [(minute, 1.0) for minute in past]
    moved: Hits = [(minute + shift, 1.0) for minute in past]
    np.testing.assert_array_equal(_seen([hits], 301), _seen([moved], 301 + shift, since=shift))


@settings(max_examples=30, deadline=None)
@given(first=minutes, second=minutes)
def test_rows_do_not_touch_each_other(first: list[int], second: list[int]) -> None:
    one: Hits = [(minute, 1.0) for minute in first]
    other: Hits = [(minute, 0.5) for minute in second]
    both = _seen([one, other], 301)
    np.testing.assert_array_equal(both[0], _seen([one], 301)[0])
    np.testing.assert_array_equal(both[1], _seen([other], 301)[0])


@pytest.mark.parametrize(
    ("hits", "levels"),
    [
        pytest.param([], [1], id="no-hits"),
        pytest.param([(5, 0.2)], [1], id="level-one-far-from-full"),
        pytest.param([(5, 0.7)], [1, 2], id="level-one-more-than-half-full"),
        pytest.param([(5, 2.2)], [1, 2, 3], id="needed-three-not-near-four"),
        pytest.param([(5, 2.8)], [1, 2, 3, 4], id="needed-three-near-four"),
        pytest.param([(25, 3.0)], [1], id="a-need-after-now-is-not-seen"),
        pytest.param([(5, 1.0), (6, 1.0)], [1], id="whole-marks-are-counts"),
        pytest.param([(5, 2.0), (6, 0.5)], [1, 2, 3], id="a-broken-mark-makes-them-concurrencies"),
    ],
)
def test_levels_that_may_be_needed_are_asked_for(hits: Hits, levels: list[int]) -> None:
    asked = open_questions(history_of([hits], 20))
    assert asked.level.tolist() == levels


def test_counts_above_the_need_open_no_further_level() -> None:
    history = SparseHistory(
        np.array([3], np.int32),
        np.array([1], np.int16),
        np.array([0, 1], np.int64),
        np.zeros(1, np.int32),
        10,
        np.array([7.0], np.float32),
    )
    assert open_questions(history).level.tolist() == [1]


def test_the_table_has_every_name_once_and_groups_in_order() -> None:
    assert len(set(NAMES)) == len(NAMES) == STARTS[-1]
    assert columns_of(frozenset(GROUPS)).tolist() == list(range(len(NAMES)))
    assert [NAMES[column] for column in columns_of(frozenset({"analogs"}))] == list(GROUPS["analogs"])


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(InputError, match="feature group 'tides'"):
        columns_of(frozenset({"tides"}))


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    one = np.zeros(1, np.int32)
    with pytest.raises(InputError, match="one length"):
        Questions(one, one, one, np.zeros(2, np.int32))
    with pytest.raises(InputError, match="indptr"):
        SparseHistory(one, one.astype(np.int16), np.array([0, 2], np.int64), one, 5)
