"""The bound against every plan there is, on worlds small enough to try them all; and what foresight is worth."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.mix.bound.dual import lower_bound, priced
from gnn.mix.bound.foresight import RollingHorizon, planned
from gnn.mix.bound.knowledge import foretold, outcome, placed, traced
from gnn.mix.replay import replay
from gnn.mix.rules.plain import OnePool
from gnn.mix.rules.theta import ThetaRule
from gnn.mix.world.draw import draw_world
from gnn.mix.world.source import Side
from tests.gnn.mix.builders import Tiny, small_source

ONE = ([0, 0], [1, 0], [0, 1], [1, 1])


def cheapest(tiny: Tiny) -> float:
    """The least J of all plans with at most one instance a function and cluster."""
    world = tiny.world()
    size, minutes = world.calls.shape
    lines = list(product(ONE, repeat=size))
    return min(tiny.played(*[list(line) for line in plan]).total for plan in product(lines, repeat=minutes))


def few_calls(most: int) -> st.SearchStrategy[list[list[tuple[int, int]]]]:
    pair = st.tuples(st.integers(0, most // 2), st.integers(0, most - most // 2))
    return st.lists(st.lists(pair, min_size=3, max_size=3), min_size=1, max_size=1)


@settings(max_examples=12, deadline=None)
@given(calls=few_calls(10))
def test_for_one_function_with_room_and_instant_starts_the_bound_is_the_optimum(
    calls: list[list[tuple[int, int]]],
) -> None:
    tiny = Tiny(calls)
    assert lower_bound(tiny.world(), steps=1).value == pytest.approx(cheapest(tiny), abs=1e-5)


@settings(max_examples=12, deadline=None)
@given(calls=few_calls(40), start_s=st.floats(0.0, 50.0), room=st.floats(0.0, 4.0))
def test_no_plan_is_cheaper_than_the_bound_whatever_the_starts_the_need_and_the_room(
    calls: list[list[tuple[int, int]]], start_s: float, room: float
) -> None:
    tiny = Tiny(calls, start_s=start_s, room_gb=[[room, room]] * 3)
    assert lower_bound(tiny.world(), steps=3).value <= cheapest(tiny) + 1e-6


def test_a_start_that_is_worth_waiting_for_is_weighed_against_holding() -> None:
    # an idle minute between two busy ones: holding costs 60/99.69 = 0.60, a start that is waited for up to 0.808
    tiny = Tiny([[(0, 0), (10, 0), (0, 0), (10, 0)]], start_s=20.0, warm_up=1)
    assert lower_bound(tiny.world(), steps=1).value == pytest.approx(cheapest(tiny), rel=1e-3)


def test_two_functions_in_room_for_one_cost_more_than_each_alone_and_the_bound_sees_it() -> None:
    calls = [[(9, 0), (9, 0)], [(9, 0), (9, 0)]]
    tiny = Tiny(calls, room_gb=[[1.0, 1.0]] * 2, price=(1.0, 1.0))
    best = cheapest(tiny)
    free = lower_bound(tiny.world(), steps=1).value
    dual = lower_bound(tiny.world(), steps=60)
    assert free < dual.value <= best + 1e-6
    assert dual.value - free > 0.5 * (best - free)
    assert (dual.room_price >= 0).all()


def test_every_price_of_room_gives_a_bound() -> None:
    tiny = Tiny([[(9, 0), (0, 3)], [(0, 9), (5, 0)]], room_gb=[[1.0, 1.0]] * 2)
    world, best = tiny.world(), cheapest(tiny)
    known = outcome(world)
    for room_price in (0.0, 0.1, 1.0, 30.0):
        prices = np.full_like(world.conditions.room_gb, room_price)
        costs, _ = priced(world, known, prices)
        assert costs.sum() - (prices * world.conditions.room_gb).sum() <= best + 1e-6


def test_callees_may_be_served_beside_their_callers_for_all_the_bound_knows() -> None:
    tiny = Tiny([[(4, 0), (4, 0)], [(0, 4), (0, 4)]], caller=[-1, 0])
    assert lower_bound(tiny.world(), steps=1).value <= cheapest(tiny) + 1e-6
    assert outcome(tiny.world()).source[1, 0].tolist() == [0.0, 0.0, 4.0]
    assert traced(tiny.world(), outcome(tiny.world())).source[1, 0].tolist() == [4.0, 0.0, 0.0]


def test_foresight_pays_step_by_step_on_a_drawn_world() -> None:
    world = draw_world(small_source(), Side.TRAINING, 3, functions=150)
    roomy = replace(world.conditions, room_gb=20.0 * world.conditions.room_gb)
    world = replace(world, conditions=roomy)
    rate = (world.calls > 0).mean(axis=1, keepdims=True)
    called = np.broadcast_to(rate, world.calls.shape).astype(np.float32)
    least = lower_bound(world).value
    all_known = replay(world, called, planned(world, traced(world, outcome(world)), "outcome")).total
    origins = replay(world, called, planned(world, placed(world, called), "placed")).total
    mix = replay(world, called, planned(world, foretold(world, called), "foretold")).total
    assert least <= all_known < origins < mix
    for policy in (RollingHorizon(), ThetaRule(), OnePool()):
        assert replay(world, called, policy).total > origins


def test_the_forecast_of_an_idle_function_is_all_that_foretold_knows() -> None:
    world = draw_world(small_source(), Side.TRAINING, 3, functions=20)
    called = np.full(world.calls.shape, 0.3, np.float32)
    known = foretold(world, called)
    assert (known.chance == called).all()
    idle = world.calls[:, :5].sum(axis=1) == 0
    assert (known.need[idle, :5] == 1).all()
    assert known.source[idle, :5].sum(axis=2) == pytest.approx(1.0, rel=1e-5)
