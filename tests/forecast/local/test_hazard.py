"""The chance of a call by idle age: known processes come out as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prewarm.domain import FloatArray
from prewarm.forecast.local.hazard import NEAR_STEPS, Hazard, call_chances, smoothed_hazard
from prewarm.forecast.local.histogram import idle_table
from tests.forecast.made import LEVELS, batch_of, every


def test_a_constant_hazard_gives_the_same_chance_at_every_step() -> None:
    chances = call_chances(np.full((2, 50), 0.2), np.array([0.0, 33.0]), 60)
    np.testing.assert_allclose(chances, 0.2, rtol=1e-9)


def test_a_certain_gap_of_five_comes_back_every_five_steps() -> None:
    hazard = np.zeros((1, 10))
    hazard[0, 4] = 1.0
    chances = call_chances(hazard, np.array([2.0]), 13)
    assert chances[0].tolist() == [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


def test_renewal_chances_match_a_simulation() -> None:
    rng = np.random.default_rng(6)
    hazard = np.array([[0.05, 0.3, 0.1, 0.6, 0.2, 0.2]])
    steps, trials, age = 12, 40_000, np.full(40_000, 3)
    called = np.zeros(steps)
    for h in range(steps):
        now = rng.uniform(size=trials) < hazard[0, np.minimum(age, 5)]
        called[h] = now.mean()
        age = np.where(now, 0, age + 1)
    np.testing.assert_allclose(call_chances(hazard, np.array([3.0]), steps)[0], called, atol=0.012)


@settings(max_examples=30)
@given(arrays(np.float64, (2, 6), elements=st.floats(0, 1)), st.integers(0, 20), st.integers(1, 40))
def test_chances_are_chances(hazard: FloatArray, age: int, steps: int) -> None:
    chances = call_chances(hazard, np.full(2, float(age)), steps)
    assert chances.shape == (2, steps)
    assert ((chances >= 0) & (chances <= 1)).all()


def test_beyond_the_near_steps_the_chance_stays() -> None:
    chances = call_chances(np.full((1, 5), 0.3), np.zeros(1), NEAR_STEPS + 100)
    assert chances.shape == (1, NEAR_STEPS + 100)
    assert chances[0, -1] == pytest.approx(0.3)


def test_many_gaps_outweigh_the_prior_and_none_leave_it() -> None:
    table = idle_table(np.vstack([every(10, 1_000), np.zeros(1_000)]), 20)
    hazard = smoothed_hazard(table, np.full((1, 20), 0.05))
    assert hazard[0, 9] > 0.9
    assert hazard[0, 4] < 0.01
    np.testing.assert_allclose(hazard[1], 0.05)


def test_a_function_called_every_ten_steps_is_expected_when_it_is_due() -> None:
    answer = Hazard().predict(batch_of(every(10, 600)), 12, LEVELS)
    chance = answer.p_at_least[0, :, 0]
    assert chance[0] > 0.8  # 600 is due
    assert chance[5] < 0.1
    assert chance[10] > 0.6
    assert "59 idle times of its own" in answer.reasons[0]


def test_one_call_is_enough_to_expect_another_and_sizes_are_those_seen() -> None:
    values = np.zeros(60)
    values[55] = 3.0
    answer = Hazard().predict(batch_of(values), 2, LEVELS)
    assert 0 < answer.p_at_least[0, 0, 2] < 0.3
    assert answer.p_at_least[0, 0, 3] == 0.0
    assert answer.mean[0, 0] == pytest.approx(3 * answer.p_at_least[0, 0, 0])


def test_hours_of_known_silence_are_believed_but_an_unknown_past_is_not_silence() -> None:
    silent, unknown = np.zeros(300), np.full(300, np.nan)
    answer = Hazard().predict(batch_of(silent, unknown), 1, LEVELS)
    assert answer.p_at_least[0, 0, 0] == 0.0
    assert answer.reasons[0] == "never called in 300 steps"
    assert answer.p_at_least[1, 0, 0] > 0.0
