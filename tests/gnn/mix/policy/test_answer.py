"""From actions to plans: zero is the tuned rule in its room, and a factor's weight does what its name says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.mix.policy.answer import LITTLE, look, plan, temperatures, tuned_base
from gnn.mix.policy.graph import mattering
from gnn.mix.replay import Day
from gnn.mix.rules.factors import CALLER, DELAY, FACTORS, HOLDING, POOLING, TIDE
from gnn.mix.world.draw import draw_world
from gnn.mix.world.source import Side
from tests.gnn.mix.builders import small_source

WIDTH = len(FACTORS) + 1


def halfway(minutes: int = 40) -> Day:
    """A small world in which the rule has played for a while."""
    world = draw_world(small_source(), Side.TRAINING, 1, functions=60)
    day = Day(world, np.full(world.calls.shape, 0.3, np.float32))
    for _ in range(minutes):
        day.play(tuned_base().market.decide(day.state))
    return day


def test_zero_is_the_rule_in_its_room_but_for_what_has_a_little_weight_now() -> None:
    base, day = tuned_base(), halfway()
    asked = mattering(day.state)
    ours = plan(base, look(base, day.state), asked, np.zeros((len(asked), WIDTH), np.float32))
    rule = base.market.decide(day.state)
    assert (ours != rule).any(axis=1).mean() < 0.05
    assert rule.sum() > 20


def test_factors_that_the_rule_has_not_get_a_little() -> None:
    rule = tuned_base().rule
    assert [rule.weights[at] for at in (CALLER, TIDE, POOLING)] == [LITTLE] * 3
    assert rule.weights[DELAY] == 1.0
    assert rule.temperature == 1.0


@pytest.mark.parametrize(("factor", "less"), [(HOLDING, False), (DELAY, True)])
def test_dearer_holding_opens_fewer_pools_and_dearer_delay_more(factor: int, less: bool) -> None:
    base, day = tuned_base(), halfway()
    seen, asked = look(base, day.state), mattering(day.state)
    pools = []
    for told in (-0.8, 0.8):
        action = np.zeros((len(asked), WIDTH), np.float32)
        action[:, factor] = told
        pools.append(int((plan(base, seen, asked, action) > 0).sum()))
    assert (pools[0] < pools[1]) is less


def test_who_is_not_asked_about_follows_the_rule() -> None:
    base, day = tuned_base(), halfway()
    seen, asked = look(base, day.state), mattering(day.state)[:1]
    wild = plan(base, seen, asked, np.full((1, WIDTH), 0.9, np.float32))
    calm = plan(base, seen, asked, np.zeros((1, WIDTH), np.float32))
    others = np.setdiff1d(np.arange(len(wild)), asked)
    assert (wild[others] == calm[others]).all()


@given(st.floats(-1.0, 1.0))
def test_a_temperature_is_a_multiple_and_its_opposite_undoes_it(told: float) -> None:
    action = np.zeros((2, WIDTH))
    action[:, -1] = told, -told
    hot, cold = temperatures(action)
    assert hot * cold == pytest.approx(1.0)
    assert np.exp(-1.0) <= hot <= np.exp(1.0)
