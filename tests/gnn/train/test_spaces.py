"""Spaces of graphs: what is drawn is in them, what is broken is not, and the reason names the field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("gymnasium", reason="the learn extra is not installed")

from gnn.forms import Form
from gnn.train.spaces import Actions, Observations, misfit
from tests.gnn.fleets import FACTORS, some_observation


@given(seed=st.integers(0, 10_000), factors=st.integers(1, 9))
def test_what_is_drawn_is_inside(seed: int, factors: int) -> None:
    space = Observations(factors, seed)
    drawn = space.sample()
    assert misfit(drawn, factors) is None
    assert drawn in space
    assert drawn not in Observations(factors + 1)
    actions = Actions(Form.RESIDUAL, factors, seed)
    actions.ask(drawn)
    assert actions.sample() in actions
    assert actions.sample().shape == (len(drawn["ask/room"]), 1)


@pytest.mark.parametrize("clusters", [1, 5, 40])
def test_graphs_of_any_size_are_inside(clusters: int) -> None:
    assert misfit(some_observation(clusters, clusters=clusters, asks=3), FACTORS) is None


def _short(seen: dict[str, Any]) -> None:
    seen["ask/room"] = seen["ask/room"][1:]


def _astray(seen: dict[str, Any]) -> None:
    seen["ends/runs_on"] = seen["ends/runs_on"] + 99


def _infinite(seen: dict[str, Any]) -> None:
    seen["ask/values"] = np.full_like(seen["ask/values"], np.inf)


def _missing(seen: dict[str, Any]) -> None:
    del seen["node/pool"]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_short, "ask/pairs is"),
        (_astray, "ends/runs_on points"),
        (_infinite, "ask/values is not finite"),
        (_missing, "node/pool is missing"),
    ],
)
def test_what_is_broken_is_named(spoil: Any, why: str) -> None:
    seen = some_observation(3)
    assert len(seen["values/runs_on"])
    spoil(seen)
    assert (misfit(seen, FACTORS) or "").startswith(why)
    assert seen not in Observations(FACTORS)


def test_an_action_has_a_row_for_each_function_asked_about() -> None:
    actions = Actions(Form.WEIGHTS, 9)
    actions.ask(some_observation(1, asks=3))
    assert actions.contains(np.zeros((3, 10), np.float32))
    assert not actions.contains(np.zeros((2, 10), np.float32))
    assert not actions.contains(np.full((3, 10), 1.5, np.float32))
