"""The cheapest model speaks, and is not changed for noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.forecast.local.intermittent import Intermittent
from prewarm.forecast.local.smoothing import SeasonalNaive, Smoothing
from prewarm.forecast.local.timers import Timer
from prewarm.forecast.select import Auto, Hysteresis, chosen_forecasts, reselect, select, span_text
from tests.forecast.made import LEVELS, batch_of, every

MODELS = ("a", "b", "c")


def costs(*rows: list[float]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array(rows, dtype=np.float64)


def test_the_first_choice_is_the_cheapest_and_says_so() -> None:
    chosen = select(MODELS, costs([3.0, 1.0, 2.0], [1.0, 1.0, np.nan]), 7 * 86_400.0)
    assert chosen.chosen.tolist() == [1, 0]
    assert chosen.reasons() == (
        "lowest backtest cost of 3 models over the last 7 days",
        "lowest backtest cost of 2 models over the last 7 days",
    )


def test_without_any_score_the_first_model_speaks() -> None:
    chosen = select(MODELS, costs([np.nan] * 3), 0.0)
    assert chosen.chosen.tolist() == [0]
    assert chosen.reasons() == ("too little history for a backtest",)
    assert select(MODELS, costs([np.nan] * 3, [1.0, 2.0, 3.0]), 0.0, unscored=2).chosen.tolist() == [2, 0]


def test_a_switch_needs_several_rounds_in_a_row() -> None:
    now = select(MODELS, costs([1.0, 2.0, 2.0]), 3_600.0)
    rule = Hysteresis(better_by=0.05, rounds=3)
    cheaper = costs([1.0, 0.5, 2.0])
    seen = []
    for _ in range(3):
        now = reselect(now, cheaper, 3_600.0, rule=rule)
        seen.append((int(now.chosen[0]), int(now.streak[0])))
    assert seen == [(0, 1), (0, 2), (1, 0)]


def test_while_it_waits_the_reason_names_the_challenger() -> None:
    now = reselect(select(MODELS, costs([1.0, 2.0, 2.0]), 1.0), costs([1.0, 0.6, 2.0]), 7_200.0)
    (reason,) = now.reasons()
    assert reason == "kept: b cost 40% less over the last 2 hours, not yet enough for a change (round 1)"


def test_one_round_without_it_starts_the_count_anew() -> None:
    rule = Hysteresis(0.05, 2)
    now = select(MODELS, costs([1.0, 2.0, 2.0]), 1.0)
    now = reselect(now, costs([1.0, 0.5, 2.0]), 1.0, rule=rule)
    now = reselect(now, costs([1.0, 1.0, 2.0]), 1.0, rule=rule)
    assert (now.streak.tolist(), now.challenger.tolist()) == ([0], [-1])
    now = reselect(now, costs([1.0, 0.5, 2.0]), 1.0, rule=rule)
    now = reselect(now, costs([1.0, 2.0, 0.5]), 1.0, rule=rule)  # another challenger: counted for itself
    assert (now.chosen.tolist(), now.streak.tolist(), now.challenger.tolist()) == ([0], [1], [2])


def test_a_gain_under_the_margin_changes_nothing() -> None:
    now = select(MODELS, costs([1.0, 2.0, 2.0]), 1.0)
    for _ in range(9):
        now = reselect(now, costs([1.0, 0.96, 2.0]), 1.0, rule=Hysteresis(0.05, 3))
    assert now.chosen.tolist() == [0]


def test_a_model_that_cannot_be_scored_any_more_is_left_at_once() -> None:
    now = reselect(select(MODELS, costs([1.0, 2.0, 3.0]), 1.0), costs([np.nan, 2.0, 3.0]), 1.0)
    assert now.chosen.tolist() == [1]
    held = reselect(now, costs([np.nan, np.nan, np.nan]), 1.0)
    assert held.chosen.tolist() == [1]


@given(st.lists(st.lists(st.floats(0.1, 10), min_size=3, max_size=3), min_size=2, max_size=12), st.integers(1, 4))
def test_between_two_switches_lie_at_least_as_many_rounds_as_the_rule_asks(
    rounds: list[list[float]], needed: int
) -> None:
    now = select(MODELS, costs(rounds[0]), 1.0)
    switches = []
    for number, row in enumerate(rounds[1:], 1):
        after = reselect(now, costs(row), 1.0, rule=Hysteresis(0.05, needed))
        if after.chosen[0] != now.chosen[0]:
            switches.append(number)
        now = after
    assert all(later - earlier >= needed for earlier, later in zip([0, *switches], switches, strict=False))


@pytest.mark.parametrize(
    ("span_s", "text"),
    [
        (7 * 86_400.0, "7 days"),
        (86_400.0, "24 hours"),
        (7_200.0, "2 hours"),
        (2_700.0, "45 minutes"),
        (60.0, "1 minute"),
        (9.0, "9 seconds"),
    ],
)
def test_spans_are_told_in_words(span_s: float, text: str) -> None:
    assert span_text(span_s) == text


def test_auto_gives_each_function_the_model_that_fits_it() -> None:
    trend = np.arange(480.0)
    batch = batch_of(every(30, 480, phase=7), trend)
    auto = Auto((Smoothing(), Intermittent("tsb"), Timer()))
    answer = auto.predict(batch, 40, LEVELS)
    assert answer.used == ("timer", "smoothing")
    assert "lowest backtest cost of 3 models" in answer.reasons[0]
    assert "timer every 30 min" in answer.reasons[0]
    due = (7 - 480) % 30
    assert answer.p_at_least[0, due, 0] > 0.8
    assert answer.p_at_least[0, due + 10, 0] < 0.1
    assert answer.mean[1, 0] == pytest.approx(480, abs=1)


def test_functions_keep_their_order_whatever_model_they_have() -> None:
    rows = [np.full(50, float(level)) for level in range(6)]
    batch = batch_of(*rows)
    models = (Smoothing(trend=False), SeasonalNaive())
    selection = select(["smoothing", "seasonal_naive"], costs(*[[0.0, 1.0], [1.0, 0.0]] * 3), 60.0)
    answer = chosen_forecasts(batch, models, selection, steps=2, levels=LEVELS)
    assert answer.mean[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert answer.used == ("smoothing", "seasonal_naive") * 3


def test_auto_answers_for_no_functions_at_all() -> None:
    answer = Auto((Smoothing(),)).predict(batch_of(np.zeros(5)).rows([]), 3, LEVELS)
    assert answer.mean.shape == (0, 3)
