"""One transition is one question."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.forms import Form, Rule
from gnn.observation import Observation, batch
from gnn.shape import EncoderShape, NetworkShape
from gnn.train.questions import many, only, part_of, transitions, zero
from tests.gnn.fleets import FACTORS, some_observation

FORMS = [(Form.WEIGHTS, 3), (Form.RESIDUAL, 15)]


@pytest.mark.parametrize(("form", "rows"), FORMS)
def test_several_questions_become_as_many_transitions(form: Form, rows: int) -> None:
    before, after = some_observation(1, asks=3), some_observation(2, asks=2)
    action = np.arange(rows * zero(form, FACTORS, before).shape[1], dtype=np.float32).reshape(rows, -1)
    info = {"rewards": np.array([1.0, 2.0, 3.0]), "violations": np.array([0.0, 0.5, 0.0]), "follows": [1, 0, -1]}
    found = list(transitions(form, before, action, (after, 6.0, False, False, info)))
    assert [one.reward for one in found] == [1.0, 2.0, 3.0]
    assert [one.violation for one in found] == [0.0, 0.5, 0.0]
    assert [one.ends for one in found] == [False, False, True]
    assert [many(one.before) for one in found] == [1, 1, 1]
    assert np.array_equal(np.concatenate([one.action for one in found]), action)
    assert _same(found[0].after, only(after, 1))
    assert _same(found[1].after, only(after, 0))


def test_without_more_said_one_reward_is_shared_and_rows_follow_rows() -> None:
    before, after = some_observation(1, asks=2), some_observation(2, asks=2)
    told = (after, 3.0, False, True, {"violation": 0.25})
    found = list(transitions(Form.WEIGHTS, before, zero(Form.WEIGHTS, FACTORS, before), told))
    assert [one.reward for one in found] == [1.5, 1.5]
    assert [one.violation for one in found] == [0.25, 0.25]
    assert all(_same(one.after, only(after, ask)) and not one.ends for ask, one in enumerate(found))


@pytest.mark.parametrize(("form", "rows"), FORMS)
def test_each_question_carries_its_own_lesson_and_one_without_an_opinion_none(form: Form, rows: int) -> None:
    before, after = some_observation(1, asks=3), some_observation(2, asks=2)
    action = zero(form, FACTORS, before)
    taught = np.arange(action.size, dtype=np.float32).reshape(action.shape)
    taught[len(taught) // 3 : 2 * len(taught) // 3] = np.nan
    first, second, third = transitions(form, before, action, (after, 0.0, False, False, {}), taught)
    assert first.taught is not None
    assert np.array_equal(first.taught, taught[: rows // 3])
    assert second.taught is None
    assert third.taught is not None
    assert np.array_equal(third.taught, taught[-(rows // 3) :])


@pytest.mark.parametrize("form", list(Form))
def test_a_network_answers_a_question_alone_as_among_others(form: Form) -> None:
    torch = pytest.importorskip("torch", reason="the learn extra is not installed")
    from gnn.encoder import tensors
    from gnn.networks import Actor

    seen = some_observation(4, asks=3)
    shape = NetworkShape(Rule((1.0,) * FACTORS), form, EncoderShape(hidden=16, heads=2, layers=1))
    torch.manual_seed(0)
    actor = Actor(shape)
    with torch.no_grad():
        together = actor(tensors(seen)).numpy()
        alone = actor(tensors(batch([only(seen, ask) for ask in range(3)]))).numpy()
    parts = [part_of(form, seen, together, ask) for ask in range(3)]
    assert np.concatenate(parts) == pytest.approx(alone, abs=1e-6)


def _same(one: Observation, other: Observation) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)
