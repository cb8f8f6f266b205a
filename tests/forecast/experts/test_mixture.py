"""Weights over experts: who is believed after what happened."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prewarm.domain import FloatArray, Int32Array
from prewarm.forecast.experts.mixture import FIRST_TRUST, Mixture, first_weights, learned, learned_pairs
from prewarm.forecast.experts.mixture import mixed as mixed_by


def mixed(mixture: Mixture, rows: Int32Array, chances: FloatArray) -> FloatArray:
    """The mix under the weights of the functions in `rows`."""
    return mixed_by(mixture.weight[rows], chances)


ONE = np.zeros(1, np.int32)


def test_at_first_the_learned_model_is_believed() -> None:
    """Nine parts in ten, the rest shared."""
    said = mixed(first_weights(1, 3), ONE, np.array([[0.5, 0.1, 0.3]]))
    assert said == pytest.approx([0.9 * 0.5 + 0.05 * 0.4])


def test_a_sleeping_expert_changes_nothing() -> None:
    """NaN is no opinion: the rest speaks with all the weight, and the sleeper wakes with what it had."""
    chances = np.array([[0.5, np.nan]])
    assert mixed(first_weights(1, 2), ONE, chances) == pytest.approx([0.5])
    after = learned(first_weights(1, 2), chances, np.array([True]), np.array([True]))
    assert after.weight[0] == pytest.approx([FIRST_TRUST, 1 - FIRST_TRUST], abs=1e-3)


def test_the_expert_that_was_right_is_soon_believed() -> None:
    """The second says 95 % where the first says 5 %, and it happens: three times are enough."""
    mixture = first_weights(1, 2)
    for _ in range(3):
        mixture = learned(mixture, np.array([[0.05, 0.95]]), np.array([True]), np.array([True]))
    assert mixed(mixture, ONE, np.array([[0.05, 0.95]]))[0] > 0.94


def test_a_change_of_habits_is_followed() -> None:
    """A month of being right does not outlast half an hour of being wrong."""
    mixture = first_weights(1, 2)
    for _ in range(5000):
        mixture = learned(mixture, np.array([[0.01, 0.99]]), np.array([False]), np.array([True]))
    for _ in range(5):
        mixture = learned(mixture, np.array([[0.01, 0.99]]), np.array([True]), np.array([True]))
    assert mixture.weight[0, 1] > 0.5


def test_an_unknown_minute_teaches_nothing() -> None:
    """Absent data is not a zero."""
    before = first_weights(2, 2)
    after = learned(before, np.array([[0.1, 0.9]] * 2), np.array([False, False]), np.array([True, False]))
    assert after.weight[1].tolist() == before.weight[1].tolist()
    assert after.weight[0, 0] > before.weight[0, 0]


def test_new_functions_join_with_the_prior() -> None:
    """The others keep what they learned."""
    taught = learned(first_weights(1, 2), np.array([[0.1, 0.9]]), np.array([True]), np.array([True]))
    grown = taught.grown(3)
    assert grown.weight[0].tolist() == taught.weight[0].tolist()
    assert grown.weight[2].tolist() == first_weights(1, 2).weight[0].tolist()


@given(
    arrays(np.float64, (4, 3), elements=st.one_of(st.floats(0, 1), st.just(float("nan")))),
    arrays(np.bool_, 4),
    arrays(np.bool_, 4),
)
def test_weights_stay_weights(chances: FloatArray, happened: np.ndarray, known: np.ndarray) -> None:
    """Positive and summing to one, whatever was said and whatever happened; the mix stays a probability."""
    after = learned(first_weights(4, 3), chances, happened, known)
    assert after.weight.sum(axis=1) == pytest.approx(np.ones(4))
    assert (after.weight > 0).all()
    said = mixed(after, np.arange(4, dtype=np.int32), chances)
    assert ((said >= 0) & (said <= 1)).all()


def test_many_events_at_once_teach_together_and_do_not_underflow() -> None:
    """Seventy levels were reached that only the second expert expected; the other function said nothing."""
    rows = np.zeros(70, np.int32)
    chances = np.tile([0.001, 0.9], (70, 1))
    after = learned_pairs(first_weights(2, 2), rows, chances, np.ones(70, np.bool_), np.array([True, True]))
    assert after.weight[0, 1] > 0.99
    assert after.weight[1].tolist() == first_weights(1, 2).weight[0].tolist()


def test_one_event_a_function_is_the_same_by_either_way() -> None:
    """Pairs with one event each are the plain rule."""
    chances, happened = np.array([[0.2, 0.7], [0.4, 0.1]]), np.array([True, False])
    plain = learned(first_weights(2, 2), chances, happened, np.array([True, True]))
    pairs = learned_pairs(first_weights(2, 2), np.arange(2, dtype=np.int32), chances, happened, np.array([True, True]))
    assert pairs.weight == pytest.approx(plain.weight)
