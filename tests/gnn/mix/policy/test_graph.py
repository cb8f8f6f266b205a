"""What the policy sees of a minute: who is asked about, whose calls are shown, and that the space takes it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gnn.graph.features import column, encode
from gnn.mix.policy.answer import look, tuned_base
from gnn.mix.policy.graph import FLOOR, heard_per_s, mattering, near, observation
from gnn.mix.rules.factors import FACTORS
from tests.gnn.mix.builders import Tiny
from tests.gnn.mix.policy.test_answer import halfway


def test_functions_without_hope_of_a_call_and_without_an_instance_are_not_asked_about() -> None:
    day = Tiny([[(1, 0)], [(1, 0)], [(1, 0)]]).day()
    state = day.state
    state.called[:] = (FLOOR / 2, FLOOR, 0.0)
    state.warm[2, 1] = 1
    assert mattering(state).tolist() == [1, 2]


def test_near_takes_callers_and_callees_that_matter() -> None:
    day = Tiny([[(1, 0)]] * 5, caller=[-1, 0, 1, 1, -1]).day()
    day.state.called[:] = (0.5, 0.5, 0.5, 0.0, 0.5)
    assert near(day.state, np.array([1])).tolist() == [0, 1, 2]


def test_calls_heard_are_a_rate() -> None:
    day = Tiny([[(30, 0)] * 201]).day(*[[[1, 0]]] * 200)
    assert heard_per_s(day.state)[0, 0] == pytest.approx(30 / 60.0, rel=0.03)
    assert heard_per_s(day.state)[0, 1] == 0.0


def test_an_observation_is_one_of_the_space_and_shows_the_minute() -> None:
    spaces = pytest.importorskip("gnn.train.spaces", exc_type=ImportError)
    base, state = tuned_base(), halfway().state
    seen, asked = look(base, state), mattering(state)
    told = observation(seen, asked, asked)
    assert spaces.misfit(told, len(FACTORS)) is None
    shares = told["values/warm_on"][:, 1]
    by_function = np.bincount(told["ends/warm_on"][0], weights=shares)
    assert by_function[by_function > 0] == pytest.approx(1.0)
    price = told["node/cluster"][:, _at("cluster", "price")]
    assert price == pytest.approx(state.price / 2.0)
    calls = told["ends/calls"]
    assert (state.site.caller[asked[calls[1]]] == asked[calls[0]]).all()
    assert calls.shape[1] > 0


def _at(kind: str, name: str) -> int:
    """The encoded column, found by what changes with the raw one."""
    low, high = (np.full((1, 26), value) for value in (0.1, 0.1))
    high[0, column(kind, name)] = 0.7
    return int(np.argmax(encode(kind, high, Counter())[0] - encode(kind, low, Counter())[0]))
