"""The limit holds for any law, as long as what comes is like what was seen."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from gnn.guard.conformal import p_value, threshold
from prewarm.domain import FloatArray

LAWS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_cauchy(n),
    "skewed": lambda rng, n: rng.exponential(size=n) ** 3,
}


@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("rate", [0.01, 0.1])
def test_false_alarms_are_as_stated_whatever_the_law(law: str, rate: float) -> None:
    rng, draw = np.random.default_rng(7), LAWS[law]
    trials, alarms = 4_000, 0
    for _ in range(trials):
        scores = draw(rng, 200)
        alarms += int(scores[0] > threshold(scores[1:], rate))
    low, high = binom.interval(0.999, trials, rate)
    assert low - trials / 200 <= alarms <= high


def test_too_few_scores_promise_nothing() -> None:
    assert threshold(np.arange(98.0), 0.01) == math.inf
    assert threshold(np.arange(99.0), 0.01) == 98.0
    assert threshold(np.zeros(0), 0.5) == math.inf


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0.02, 0.9), st.floats(-1e6, 1e6))
def test_the_limit_and_the_p_value_say_the_same(values: list[float], rate: float, score: float) -> None:
    scores = np.array(values)
    limit = threshold(scores, rate)
    assert (scores > limit).sum() <= rate * (len(scores) + 1) + 1e-6
    if score > limit:
        assert p_value(scores, score) <= rate + 1e-9


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_p_values_of_what_is_alike_are_not_small_too_often(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=50)
    ranks = [p_value(np.delete(scores, at), scores[at]) for at in range(50)]
    for level in (0.02, 0.1, 0.5):
        assert np.mean(np.array(ranks) <= level) <= level + 1e-9
