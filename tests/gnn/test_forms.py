"""The three forms of an action: zeros are the rule, ends are the bounds, numpy and torch agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.forms import BOUND, DEAD, HOTTEST, REACH, Form, scores_of, temperature_of, weights_of, width_of

RULE = np.array([0.5, 1.0, 0.0, 2.5])


def test_zeros_are_the_rule() -> None:
    assert weights_of(np.zeros((2, 5)), RULE)[1].tolist() == pytest.approx((RULE / 4.0).tolist())


def test_at_the_ends_a_factor_is_off_or_counts_several_times() -> None:
    action = np.zeros((1, 5))
    action[0, :2] = -1.0, 1.0
    raw = np.array([0.0, REACH, 0.0, 2.5])
    assert weights_of(action, RULE)[0].tolist() == pytest.approx((raw / raw.sum()).tolist(), abs=1e-5)


def test_all_off_is_the_rule_and_not_nothing() -> None:
    assert weights_of(-np.ones((1, 5)), RULE)[0].tolist() == pytest.approx((RULE / 4.0).tolist())


@given(st.lists(st.floats(-1, 1), min_size=5, max_size=5))
def test_weights_are_never_negative_and_sum_to_one(action: list[float]) -> None:
    weights = weights_of(np.array([action]), RULE)[0]
    assert (weights >= 0).all()
    assert weights[2] == 0.0  # what the rule does not know, nobody turns on
    assert weights.sum() == pytest.approx(1.0)


def test_the_temperature_is_the_rules_until_an_action_clearly_says_hotter() -> None:
    action = np.array([[0.0, -1.0], [0.0, 0.0], [0.0, DEAD], [0.0, (1.0 + DEAD) / 2], [0.0, 1.0]])
    assert temperature_of(action).tolist() == pytest.approx([0.0, 0.0, 0.0, HOTTEST / 4, HOTTEST])
    assert temperature_of(action, 0.2).tolist() == pytest.approx([0.0, 0.2, 0.2, 0.2 + HOTTEST / 4, 0.2 + HOTTEST])


def test_scores_of_the_forms_by_hand() -> None:
    values, pairs = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0, 0, 1])
    rule = np.array([3.0, 1.0])
    weights = scores_of(Form.WEIGHTS, np.zeros((2, 3)), pairs=pairs, values=values, rule=rule)
    assert weights.tolist() == pytest.approx([0.75, 0.25, 1.0])
    action = np.array([[1.0], [-1.0], [0.0]])
    residual = scores_of(Form.RESIDUAL, action, pairs=pairs, values=values, rule=rule)
    assert residual.tolist() == pytest.approx([0.75 + BOUND, 0.25 - BOUND, 1.0])
    assert scores_of(Form.DIRECT, action, pairs=pairs, values=values, rule=rule).tolist() == [1.0, 0.0, 0.5]


@pytest.mark.parametrize("form", list(Form))
def test_torch_reads_an_action_as_numpy_does(form: Form) -> None:
    torch = pytest.importorskip("torch", reason="the learn extra is not installed")
    rng = np.random.default_rng(0)
    pairs, values = np.repeat(np.arange(3), 4), rng.random((12, 4))
    action = rng.uniform(-1, 1, (3 if form is Form.WEIGHTS else 12, width_of(form, 4)))
    mine = scores_of(form, action, pairs=pairs, values=values, rule=RULE)
    as_tensor = {name: torch.from_numpy(one) for name, one in (("pairs", pairs), ("values", values), ("rule", RULE))}
    theirs = scores_of(form, torch.from_numpy(action), **as_tensor)
    assert np.allclose(mine, theirs.numpy())
