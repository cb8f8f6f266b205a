"""The recalibration learns a function's own habits and leaves the others alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.forecast.levels.online import PRIOR_VARIANCE, Recalibration, corrected, learned

BOTH = np.array([0, 1])


def _taught(said: float, share: float, minutes: int, seed: int = 0) -> Recalibration:
    """Two rows; row 0 is taught that what is said to happen with `said` happens with `share`."""
    state = Recalibration.fresh(2)
    happened = np.random.default_rng(seed).random(minutes) < share
    for outcome in happened:
        state = learned(state, np.array([0]), np.array([said], np.float32), np.array([outcome]))
    return state


@pytest.mark.parametrize("said", [0.001, 0.05, 0.3, 0.9, 0.999])
def test_a_fresh_state_corrects_nothing(said: float) -> None:
    p = np.full(2, said, np.float32)
    np.testing.assert_allclose(corrected(Recalibration.fresh(2), BOTH, p), p, rtol=1e-4)


@pytest.mark.parametrize(
    ("said", "share"),
    [
        pytest.param(0.3, 0.1, id="said-too-often"),
        pytest.param(0.1, 0.3, id="said-too-seldom"),
        pytest.param(0.5, 0.9, id="surer-than-said"),
    ],
)
def test_a_function_that_errs_in_one_way_is_corrected_towards_its_own_share(said: float, share: float) -> None:
    state = _taught(said, share, 400)
    own, other = corrected(state, BOTH, np.full(2, said, np.float32))
    assert abs(own - share) < abs(said - share) / 2
    assert other == pytest.approx(said, rel=1e-4)


def test_what_is_learned_at_one_chance_does_not_move_a_far_one() -> None:
    state = _taught(0.1, 0.4, 300)
    assert corrected(state, np.array([0]), np.array([0.97], np.float32))[0] == pytest.approx(0.97, abs=0.005)


def test_doubt_falls_with_minutes_seen_and_never_passes_the_prior() -> None:
    state = _taught(0.3, 0.3, 100)
    assert state.variance[0].min() < PRIOR_VARIANCE / 2
    assert state.variance.max() <= np.float32(PRIOR_VARIANCE)


def test_new_rows_start_fresh_and_known_ones_keep_what_they_learned() -> None:
    state = _taught(0.3, 0.1, 50).grown(5)
    assert state.weight.shape == state.variance.shape == (5, 7)
    np.testing.assert_array_equal(state.weight[:2], _taught(0.3, 0.1, 50).weight)
    assert not state.weight[2:].any()
    assert state.grown(3).weight.shape == (5, 7)


def test_learning_leaves_the_old_state_as_it_was() -> None:
    before = Recalibration.fresh(1)
    learned(before, np.array([0]), np.array([0.5], np.float32), np.array([True]))
    assert not before.weight.any()


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40))
def test_chances_stay_chances_whatever_happens(minutes: list[tuple[float, bool]]) -> None:
    state = Recalibration.fresh(1)
    row = np.array([0])
    for said, outcome in minutes:
        p = np.array([said], np.float32)
        state = learned(state, row, p, np.array([outcome]))
        assert 0 <= corrected(state, row, p)[0] <= 1
    assert np.isfinite(state.weight).all()
    assert (state.variance > 0).all()
