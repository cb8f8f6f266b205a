"""Goals and the price of violations: by hand, and where dual ascent must settle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.reward import Goals, Outcome, Price, fairness, reward


def test_the_reward_by_hand() -> None:
    outcome = Outcome(utilisation=0.8, delay=0.25, fairness=0.5)
    assert reward(outcome, Goals(2.0, 1.0, 0.5)) == pytest.approx(1.6 + 0.75 + 0.25)


@pytest.mark.parametrize(
    ("loads", "index"), [([1, 1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([3, 1], 0.8), ([], 1.0), ([0, 0], 1.0)]
)
def test_jains_index(loads: list[float], index: float) -> None:
    assert fairness(np.array(loads, np.float64)) == pytest.approx(index)


def test_above_the_limit_it_gets_dearer_and_below_cheaper_and_never_a_subsidy() -> None:
    price = Price(limit=0.1, multiplier=1.0, step=0.5, most=1.2)
    assert price.moved(0.3).multiplier == pytest.approx(1.1)
    assert price.moved(0.0).multiplier == pytest.approx(0.95)
    assert price.moved(1.0).multiplier == 1.2
    assert Price(limit=0.1, step=0.5).moved(0.0).multiplier == 0.0


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), -float("inf")])
def test_an_unknown_rate_moves_nothing(rate: float) -> None:
    price = Price(limit=0.1, multiplier=1.0)
    assert price.moved(rate) is price


def test_the_price_settles_where_the_best_answer_just_keeps_the_limit() -> None:
    # maximise 2 a - a^2 subject to a^2 <= 1/4: a = 1/2, and the multiplier is (2 - 2 a) / (2 a) = 1
    price, action = Price(limit=0.25, step=0.5), 0.0
    for _ in range(300):
        action = 1.0 / (1.0 + price.multiplier)  # the best answer to this price
        price = price.moved(action**2)
    assert price.multiplier == pytest.approx(1.0, abs=1e-6)
    assert action == pytest.approx(0.5, abs=1e-6)


@given(st.floats(0, 1), st.floats(0, 10), st.floats(0, 1))
def test_a_price_stays_within_its_bounds(limit: float, multiplier: float, rate: float) -> None:
    moved = Price(limit=limit, multiplier=multiplier, most=10.0, step=3.0).moved(rate)
    assert 0.0 <= moved.multiplier <= 10.0
    assert (moved.multiplier >= multiplier) or rate <= limit
