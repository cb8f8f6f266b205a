"""The cheapest model speaks, and is not changed for noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.forecast.local.intermittent import Intermittent
from prewarm.forecast.local.smoothing import SeasonalNaive, Smoothing
from prewarm.forecast.local.timers import Timer
from prewarm.forecast.select import BETTER_BY, Auto, chosen_forecasts, select, span_text
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


@pytest.mark.parametrize(
    ("row", "chosen", "why"),
    [
        pytest.param([1.0, 0.96, 2.0], 0, "kept: b cost 4% less over the last 2 hours, not enough", id="small-gain"),
        pytest.param([1.0, 0.9, 2.0], 1, "lowest backtest cost of 3 models", id="clear-gain"),
        pytest.param([1.0, 1.0, 1.0], 0, "lowest backtest cost of 3 models", id="no-gain"),
        pytest.param([np.nan, 2.0, 3.0], 1, "lowest backtest cost of 2 models", id="not-scored-any-more"),
        pytest.param([np.nan, np.nan, np.nan], 0, "too little history", id="nothing-scored"),
        pytest.param([0.0, 0.0, 0.0], 0, "lowest backtest cost of 3 models", id="all-free"),
    ],
)
def test_who_has_a_model_keeps_it_unless_another_is_clearly_cheaper(row: list[float], chosen: int, why: str) -> None:
    now = select(MODELS, costs(row), 7_200.0, unscored=2, incumbent="a")
    assert now.chosen.tolist() == [chosen]
    assert now.reasons()[0].startswith(why)


def test_an_incumbent_that_is_no_candidate_any_more_is_forgotten() -> None:
    assert select(MODELS, costs([1.0, 0.99, 2.0]), 60.0, incumbent="sarima").chosen.tolist() == [1]


@given(st.lists(st.lists(st.floats(0.1, 10), min_size=3, max_size=3), min_size=1, max_size=12))
def test_whoever_follows_costs_at_most_a_margin_more_than_the_cheapest(rounds: list[list[float]]) -> None:
    holder: str | None = None
    for row in rounds:
        now = select(MODELS, costs(row), 1.0, incumbent=holder)
        holder = MODELS[int(now.chosen[0])]
        assert row[int(now.chosen[0])] * (1 - BETTER_BY) <= min(row)


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
