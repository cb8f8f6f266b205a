"""What the sequence model reads of a history: checked against plain counting, and blind to the future."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.domain import Float32Array, FloatArray
from prewarm.forecast.levels.neural_bits import WORDS, count_lag, fill_analogs, fill_bitmap
from prewarm.forecast.levels.neural_tokens import FEATURES, SCALARS, TOKENS, count_tokens, describe

Minutes = list[int]
HITS = st.sets(st.integers(0, 1399), max_size=150).map(sorted)


def describe_one(
    hits: Minutes, now: int, *, needs: Minutes | None = None, level: int = 1, since: int = 0
) -> tuple[Float32Array, Float32Array]:
    """Tokens and scalars of one query."""
    size = np.ones((len(hits), 2), dtype=np.float32)
    if needs is not None:
        size[:, 0] = needs
        size[:, 1] = needs
    minute, indptr = np.array(hits, dtype=np.int32), np.array([0, len(hits)])
    query = np.array([[0, level, now]])
    count = count_tokens(minute, size, indptr, query)
    tokens, scalars = describe(minute, size, indptr, np.array([since]), query, count)
    return tokens, scalars[0]


def log_odds(met: int, n: int) -> float:
    """As the kernel smooths them."""
    return float(np.log((met + 0.3) / (n - met + 0.7)) / 4)


@settings(max_examples=60, deadline=None)
@given(HITS, st.integers(1, 1400))
def test_how_often_a_lag_was_met_is_plain_counting(hits: Minutes, now: int) -> None:
    past = [h for h in hits if h < now]
    tokens, _ = describe_one(hits, now)
    assert len(tokens) == min(len(past), TOKENS)
    for j, row in enumerate(tokens[:5]):
        lag = now - past[-1 - j]
        due = [h + lag for h in past if h + lag < now]
        met = sum(d in set(past) for d in due)
        near = sum(bool({d - 1, d, d + 1} & set(past)) for d in due)
        assert row[2] == pytest.approx(log_odds(met, len(due)), abs=1e-5)
        assert row[3] == pytest.approx(log_odds(near, len(due)), abs=1e-5)
        recent = [d for d in due if now - d <= 256]
        assert row[5] == pytest.approx(log_odds(sum(d in set(past) for d in recent), len(recent)), abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(HITS, st.integers(1, 1400), st.integers(1, 3))
def test_what_comes_later_is_not_read(hits: Minutes, now: int, level: int) -> None:
    needs = [1 + h % 3 for h in hits]
    kept = [h for h in hits if h < now]
    whole = describe_one(hits, now, needs=needs, level=level)
    cut = describe_one(kept, now, needs=needs[: len(kept)], level=level)
    np.testing.assert_array_equal(whole[0], cut[0])
    np.testing.assert_array_equal(whole[1], cut[1])


@settings(max_examples=40, deadline=None)
@given(HITS, st.integers(1, 1400), st.integers(1, 10_000))
def test_the_clock_is_not_read(hits: Minutes, now: int, turn: int) -> None:
    here = describe_one(hits, now)
    there = describe_one([h + turn for h in hits], now + turn, since=turn)
    np.testing.assert_array_equal(here[0], there[0])
    np.testing.assert_array_equal(here[1], there[1])


@settings(max_examples=40, deadline=None)
@given(HITS, st.integers(1, 1400))
def test_every_number_is_finite_and_moderate(hits: Minutes, now: int) -> None:
    tokens, scalars = describe_one(hits, now)
    assert tokens.shape[1:] == (FEATURES,)
    assert scalars.shape == (SCALARS,)
    assert np.abs(tokens).max(initial=0) < 8
    assert np.abs(scalars).max() < 8


def test_only_the_last_day_is_read() -> None:
    recent = [2000, 2010, 2030]
    np.testing.assert_array_equal(describe_one([5, 300, *recent], 2035)[0], describe_one(recent, 2035)[0])


def test_a_series_of_level_two_has_only_the_minutes_that_reached_it() -> None:
    hits, needs = [10, 20, 30, 40, 50], [1, 2, 1, 3, 1]
    second, _ = describe_one(hits, 55, needs=needs, level=2)
    assert len(second) == 2
    assert second[:, 0] == pytest.approx([np.log(15) / 7, np.log(35) / 7])
    assert second[:, 17] == pytest.approx([np.log(1.5), 0.0])


def test_a_gap_that_ended_at_this_age_is_marked_so() -> None:
    tokens, _ = describe_one([0, 10, 17, 27], 37)
    assert tokens[1:, 8].tolist() == [1.0, 0.0, 1.0]  # gaps 10, 7, 10 from the latest back, age 10
    assert tokens[1:, 10].tolist() == [1.0, 0.0, 1.0]
    assert tokens[0, 16] == 1.0


def test_a_past_with_the_same_gaps_matches_over_its_length() -> None:
    tokens, _ = describe_one([0, 5, 12, 40, 45, 52], 60)
    alike = tokens[3]  # the hit at 12: gaps 7, 5 before it, as before the hit at 52
    assert alike[12] == alike[13] == 1.0
    assert alike[14] == pytest.approx(2 / 4)


def test_unknown_time_is_not_idle_time() -> None:
    _, known = describe_one([], 1000)
    _, fresh = describe_one([], 1000, since=990)
    assert known[0] == pytest.approx(np.log(1000) / 3)
    assert fresh[0] == pytest.approx(np.log(10) / 3)


def make_bits(hits: Minutes, now: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint64]], ...]:
    """Bitmap and its spread."""
    bits, near = np.zeros(WORDS, dtype=np.uint64), np.zeros(WORDS, dtype=np.uint64)
    fill_bitmap(np.array(hits, dtype=np.int32), now, bits, near)
    return bits, near


def test_a_lag_across_word_borders_is_counted() -> None:
    hits = list(range(0, 1400, 100))
    counts = np.zeros(5, dtype=np.int64)
    bits, near = make_bits(hits, 1399)
    count_lag(bits, near, 100, counts)
    assert counts.tolist() == [13, 13, 13, 2, 2]
    count_lag(bits, near, 101, counts)
    assert counts.tolist() == [13, 0, 13, 2, 0]


def analogs(hits: Minutes, now: int) -> FloatArray:
    """The 18 numbers of likeness."""
    x = np.zeros(18, dtype=np.float32)
    fill_analogs(make_bits(hits, now)[0], now, len(hits), x)
    return x.astype(np.float64)


def test_a_timer_is_seen_in_the_minutes_that_were_like_this_one() -> None:
    hits = list(range(0, 500, 7))
    due, idle = analogs(hits, 504), analogs(hits, 501)
    assert (due[:3] > 0.4).all()
    assert (idle[:3] < -0.7).all()
    assert (due[3:5] > idle[3:5]).all(), "a tolerance of a minute blurs, yet tells them apart"
    assert due[10] > 0.4 > -0.7 > idle[10]
    assert due[11] == 2.0, "64 minutes in common with the past"
