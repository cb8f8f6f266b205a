"""Nobody is promoted on worse answers, everybody is demoted by them, and an alarm takes it all back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.guard.trial import STEPS, Interval, Standing, Terms, after_alarm, after_window, interval

TERMS = Terms(windows=3)
GOOD, BAD = Interval(0.02, 0.001, 0.04, 30), Interval(-0.05, -0.08, -0.01, 30)
UNSURE = Interval(0.01, -0.01, 0.03, 30)


def after(*windows: Interval, most: float = 1.0, begun: Standing | None = None) -> Standing:
    """The standing after these windows, one a minute."""
    standing = begun or Standing()
    for number, one in enumerate(windows):
        standing = after_window(standing, one, 60.0 * (number + 1), TERMS, most=most)
    return standing


def test_three_good_windows_in_a_row_are_a_step() -> None:
    assert after(GOOD, GOOD).share == 0.0
    risen = after(GOOD, GOOD, GOOD)
    assert (risen.share, risen.streak, risen.since, risen.windows) == (STEPS[1], 0, 180.0, 3)
    assert risen.why.startswith("not worse than the rule in 3 windows in a row (95 % of +0.10% to +4.00%")
    assert after(*[GOOD] * 9).share == 1.0
    assert after(*[GOOD] * 20).share == 1.0


def test_an_unsure_window_begins_the_count_anew_and_takes_nothing() -> None:
    assert after(GOOD, GOOD, UNSURE, GOOD, GOOD).share == 0.0
    assert after(GOOD, GOOD, GOOD, UNSURE).share == STEPS[1]


def test_a_bad_window_takes_everything_back() -> None:
    fallen = after(*[GOOD] * 9, BAD)
    assert (fallen.share, fallen.streak, fallen.last) == (0.0, 0, BAD)
    assert fallen.why.startswith("worse than the rule by 5.00%")


def test_nobody_rises_beyond_what_is_allowed() -> None:
    assert after(*[GOOD] * 20, most=0.0).step == 0
    assert STEPS[after(*[GOOD] * 20, most=0.1).step] == 0.1
    half = after(*[GOOD] * 20, most=0.3)  # the step over it, whose share is cut where it is used
    assert STEPS[half.step] == 0.5


def test_an_alarm_takes_everything_back() -> None:
    fallen = after_alarm(after(*[GOOD] * 6), "out of distribution: drift", 500.0)
    assert (fallen.share, fallen.since, fallen.why) == (0.0, 500.0, "out of distribution: drift")
    assert after_alarm(after(GOOD, GOOD), "x", 1.0).streak == 0


@given(st.lists(st.lists(st.floats(-2.0, -1e-9), min_size=0, max_size=40), min_size=1, max_size=12))
def test_promotion_never_comes_of_negative_differences(windows: list[list[float]]) -> None:
    standing = Standing()
    for number, values in enumerate(windows):
        standing = after_window(standing, interval(values), float(number), Terms(windows=1), most=1.0)
        assert standing.step == 0


@given(
    st.lists(st.floats(0.5, 2.0), min_size=2, max_size=30), st.integers(0, 3), st.integers(0, 5), st.floats(0.0, 1.0)
)
def test_an_injected_regression_demotes_from_anywhere(worse: list[float], step: int, streak: int, most: float) -> None:
    found = interval([-one for one in worse] * 4)
    standing = after_window(Standing(step, streak), found, 9.0, TERMS, most=most)
    if found.high < 0:
        assert (standing.step, standing.streak) == (0, 0)
    else:
        assert standing.step == step


@given(st.integers(0, 2**32 - 1))
def test_no_difference_at_all_is_not_worse(seed: int) -> None:
    many = int(np.random.default_rng(seed).integers(2, 50))
    assert interval([0.0] * many) == Interval(0.0, 0.0, 0.0, many)
    assert after(*[interval([0.0] * many)] * 3).step == 1


def test_the_interval_is_students() -> None:
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert (found.mean, found.pairs) == (2.5, 4)
    assert found.low == pytest.approx(2.5 - 3.182446 * 1.290994 / 2, rel=1e-5)
    assert interval([1.0]).low == -np.inf
    assert interval([1.0, np.nan]).high == np.inf


def test_the_interval_holds_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    held = [one.low <= 0.3 <= one.high for one in (interval(rng.normal(0.3, 1.0, 25)) for _ in range(2_000))]
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)


def test_an_even_policy_is_rarely_promoted_by_chance() -> None:
    rng, risen = np.random.default_rng(2), 0
    for _ in range(200):
        standing = Standing()
        for number in range(10):
            standing = after_window(standing, interval(rng.normal(0.0, 1.0, 25)), float(number), TERMS)
        risen += standing.step > 0
    assert risen <= 2
