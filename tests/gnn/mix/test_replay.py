"""A day played through: what a policy may see, that a seed settles everything, and the bill's arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnn.mix.expected.teller import FADE, Teller
from gnn.mix.expected.waiting import waited_share
from gnn.mix.minute import ALLOCATED, ROOM, USED
from gnn.mix.replay import Day, Maps, Outcome, replay
from gnn.mix.rules.plain import OnePool
from gnn.mix.rules.theta import ThetaRule
from gnn.mix.world.draw import World, draw_world
from gnn.mix.world.hits import draw_starts
from gnn.mix.world.source import Side
from prewarm.domain import Float32Array
from tests.gnn.mix.builders import Tiny, small_source


def drawn() -> tuple[World, Float32Array]:
    world = draw_world(small_source(), Side.TRAINING, 1, functions=40)
    return world, np.full(world.calls.shape, 0.2, np.float32)


def test_a_policy_decides_the_same_whatever_comes_after() -> None:
    tiny = Tiny([[(3, 0), (5, 1), (0, 2), (4, 4)], [(0, 1), (0, 0), (2, 2), (0, 9)]])
    other = Tiny([[(3, 0), (5, 1), (9, 9), (0, 0)], [(0, 1), (0, 0), (0, 0), (1, 0)]])
    rule = ThetaRule()
    decided = []
    for version in (tiny, other):
        day = version.day()
        for _ in range(2):
            day.play(rule.decide(day.state))
        decided.append(rule.decide(day.state))
        assert day.state.minute == 2
    assert decided[0].tolist() == decided[1].tolist()


def test_prices_and_room_are_those_of_the_minute_before() -> None:
    tiny = Tiny([[(1, 0)] * 3], room_gb=[[9.0, 9.0], [9.0, 9.0], [4.0, 9.0]])
    day = tiny.day([[1, 0]], [[1, 0]])
    assert day.state.room_gb.tolist() == [9.0, 9.0]
    day.play(np.array([[1, 0]], np.int32))
    assert day.warm.tolist() == [[1, 0]]


def test_the_same_seed_and_policy_give_the_same_bill() -> None:
    world, called = drawn()
    first, second = replay(world, called, ThetaRule()), replay(world, called, ThetaRule())
    assert first.total == second.total
    assert (first.ledger == second.ledger).all()


def test_the_bill_adds_up_by_function_by_minute_and_by_part() -> None:
    world, called = drawn()
    outcome = replay(world, called, ThetaRule())
    assert outcome.by_function.sum() == pytest.approx(outcome.total)
    assert outcome.parts.sum() == pytest.approx(outcome.total)
    assert outcome.by_minute.sum(axis=0) == pytest.approx(outcome.ledger.sum(axis=0))
    assert (outcome.by_minute[: world.warm_up] == 0).all()
    row = outcome.row()
    assert row["J"] == pytest.approx(sum(row[part] for part in ("cold", "waste", "delay", "missing")))
    assert row["allocated / room"] == pytest.approx(outcome.tally[ALLOCATED] / outcome.tally[ROOM])
    assert outcome.tally[USED] <= outcome.tally[ALLOCATED]


def test_cheaper_memory_everywhere_makes_the_same_day_cheaper_by_its_waste() -> None:
    world, called = drawn()
    day, dear = (
        replay(world, called, OnePool()),
        replace(world, conditions=replace(world.conditions, price=2.0 * world.conditions.price)),
    )
    again = _with_plans_of(world, dear, called)
    assert again.ledger[:, 1] == pytest.approx(2.0 * day.ledger[:, 1])
    assert again.ledger[:, 0] == pytest.approx(day.ledger[:, 0])


def _with_plans_of(world: World, other: World, called: Float32Array) -> Outcome:
    """`other` played with the plans that one pool makes in `world`."""
    seen, blind = Day(world, called), Day(other, called)
    for _ in range(world.minutes):
        plan = OnePool().decide(seen.state)
        seen.play(plan)
        blind.play(plan)
    return blind.outcome()


def test_clusters_are_ordered_by_delay_ties_to_the_lower_index() -> None:
    maps = Maps.of(np.array([[1.0, 5.0, 5.0], [5.0, 1.0, 2.0], [5.0, 2.0, 1.0]]))
    assert maps.nearest.tolist() == [[0, 1, 2], [1, 2, 0], [2, 1, 0]]
    assert maps.pairs[:5].tolist() == [[0, 0], [1, 1], [2, 2], [1, 2], [2, 1]]


def test_a_first_call_says_everything_and_later_ones_move_it() -> None:
    teller = Teller(2, 2)
    row = np.array([1], np.int32)
    assert teller.calls.tolist() == [1.0, 1.0]
    teller.hear(row, np.array([8.0], np.float32), np.array([3], np.int32), np.array([[6.0, 2.0]]))
    assert teller.calls[1] == 8.0
    assert teller.tail[1, :4].tolist() == [1, 1, 1, 0]
    teller.hear(row, np.array([2.0], np.float32), np.array([1], np.int32), np.array([[0.0, 2.0]]))
    assert teller.calls[1] == pytest.approx(FADE * 8 + (1 - FADE) * 2)
    assert teller.tail[1, :3] == pytest.approx([1, FADE, FADE])
    assert teller.tail[0, 0] == 1.0
    assert teller.calls[0] == 1.0


def test_callers_seen_fade_with_their_half_lives() -> None:
    teller = Teller(1, 2)
    row, need = np.array([0], np.int32), np.array([1], np.int32)
    teller.hear(row, np.array([4.0], np.float32), need, np.array([[4.0, 0.0]]))
    nobody = np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros((0, 2))
    for _ in range(30):
        teller.hear(*nobody)
    assert teller.seen[0, 0].tolist() == pytest.approx([2.0, 0.0])
    assert teller.seen[1, 0].tolist() == pytest.approx([4.0 * 0.5 ** (30 / 240), 0.0])


def test_the_chance_of_waiting_for_a_start_is_that_of_the_drawn_starts() -> None:
    starts = draw_starts(100_000, np.random.default_rng(0))
    for calls in (1.0, 7.0, 60.0):
        expected = (1.0 - (1.0 - starts / 60.0) ** calls).mean()
        assert waited_share(np.array(calls)) == pytest.approx(expected, abs=0.01)
    assert waited_share(np.array(0.0)) == 0.0
