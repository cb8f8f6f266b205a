"""The rules of a minute, each worked out by hand on two clusters: who serves, who waits, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.mix.minute import ALLOCATED, COLD, DELAY, MISSING, MOVES, STARTED, USED, WASTE
from gnn.mix.replay import Outcome
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S
from tests.gnn.mix.builders import Tiny

NONE = (0, 0)


def bill(outcome: Outcome) -> list[float]:
    """Cold starts, priced GB s, delay in s, missing."""
    return [float(value) for value in outcome.ledger.sum(axis=0)]


def test_nothing_kept_and_nothing_called_costs_nothing() -> None:
    assert bill(Tiny([[NONE, NONE]]).played([[0, 0]], [[0, 0]])) == [0, 0, 0, 0]


def test_a_call_that_finds_nothing_starts_an_instance_beside_its_callers() -> None:
    day = Tiny([[(3, 0)]]).day([[0, 0]])
    # one cold start; 60 GB s held less 3 calls of 6 s used, at price 1; three calls of 1 ms
    assert bill(day.outcome()) == pytest.approx([1, 60 - 18, 0.003, 0])
    assert day.warm.tolist() == [[1, 0]]


def test_an_instance_started_on_demand_stays_until_a_plan_drops_it() -> None:
    tiny = Tiny([[(3, 0), (2, 0), (2, 0)]])
    kept = tiny.played([[0, 0]], [[1, 0]], [[1, 0]])
    assert bill(kept)[COLD] == 1
    dropped = tiny.played([[0, 0]], [[1, 0]], [[0, 0]])
    assert bill(dropped)[COLD] == 2


def test_an_idle_instance_wastes_its_minute_at_the_price_of_its_cluster() -> None:
    assert bill(Tiny([[NONE, NONE]]).played([[1, 0]], [[0, 1]]))[WASTE] == pytest.approx(60 * 1 + 60 * 2)


def test_calls_go_to_the_only_pool_however_far_and_it_is_paid_at_the_pool() -> None:
    outcome = Tiny([[NONE, (4, 1)]]).played([[0, 1]], [[0, 1]])
    assert bill(outcome) == pytest.approx([0, 2 * 60 + 2 * (60 - 30), 4 * 0.020 + 0.001, 0])


def test_calls_beyond_what_the_near_instance_serves_go_to_the_far_one() -> None:
    outcome = Tiny([[NONE, (15, 0)]]).played([[1, 1]], [[1, 1]])
    assert bill(outcome)[DELAY] == pytest.approx(10 * 0.001 + 5 * 0.020)
    # a is used for the whole minute, b for half of it, after a minute in which both idled
    assert bill(outcome)[WASTE] == pytest.approx((60 + 120) + 0 + 2 * 30)
    assert bill(outcome)[COLD] == 0


def test_the_near_region_is_served_first_where_room_is_short() -> None:
    outcome = Tiny([[NONE, (10, 5)]]).played([[1, 1]], [[1, 1]])
    assert bill(outcome)[DELAY] == pytest.approx(15 * 0.001)


def test_what_is_needed_beyond_the_plan_starts_where_most_calls_are_unserved() -> None:
    day = Tiny([[NONE, (10, 9)]]).day([[1, 0]], [[1, 0]])
    assert bill(day.outcome())[COLD] == 1
    assert day.warm.tolist() == [[1, 1]]
    assert bill(day.outcome())[DELAY] == pytest.approx(19 * 0.001)


def test_a_start_that_calls_wait_for_counts_by_the_chance_that_one_came_before_it_was_ready() -> None:
    outcome = Tiny([[(3, 0)]], start_s=6.0).played([[1, 0]])
    assert bill(outcome)[COLD] == pytest.approx(1 - 0.9**3)


def test_a_start_that_no_call_meets_costs_no_cold_start() -> None:
    assert bill(Tiny([[NONE, (3, 0)]], start_s=6.0).played([[1, 0]], [[1, 0]]))[COLD] == 0


def test_an_instance_moved_is_a_new_start_and_is_counted_as_a_move() -> None:
    outcome = Tiny([[NONE, (0, 5)]], start_s=12.0).played([[1, 0]], [[0, 1]])
    assert outcome.tally[MOVES] == 1
    assert outcome.tally[STARTED] == 2
    assert bill(outcome)[COLD] == pytest.approx(1 - 0.8**5)


def test_while_a_second_pool_starts_the_first_serves_and_nobody_waits() -> None:
    outcome = Tiny([[NONE, (0, 5)]], start_s=12.0).played([[1, 0]], [[1, 1]])
    assert bill(outcome)[COLD] == 0
    assert outcome.tally[MOVES] == 0
    # a fifth of the calls comes before the near instance is ready
    assert bill(outcome)[DELAY] == pytest.approx(1 * 0.020 + 4 * 0.001)


def test_with_no_room_anywhere_an_instance_is_missing_and_its_calls_are_lost() -> None:
    outcome = Tiny([[(3, 0)]], room_gb=[[0.5, 0.5]]).played([[1, 0]])
    assert bill(outcome) == [0, 0, 0, 1]


def test_only_what_lacks_room_is_missing() -> None:
    outcome = Tiny([[(25, 0)]], room_gb=[[1.0, 1.0]]).played([[0, 0]])
    assert bill(outcome)[MISSING] == 1
    assert bill(outcome)[COLD] == 2
    assert bill(outcome)[DELAY] == pytest.approx(10 * 0.001 + 10 * 0.020)


def test_a_plan_without_room_goes_to_the_nearest_cluster_that_has_some() -> None:
    day = Tiny([[NONE], [NONE]], room_gb=[[1.0, 5.0]]).day([[1, 0], [1, 0]])
    assert day.warm.tolist() == [[1, 0], [0, 1]]


def test_what_stands_elsewhere_is_kept_before_anything_is_started() -> None:
    tiny = Tiny([[NONE, NONE], [NONE, NONE]], room_gb=[[1.0, 5.0]] * 2)
    day = tiny.day([[1, 0], [1, 0]], [[1, 0], [1, 0]])
    assert day.warm.tolist() == [[1, 0], [0, 1]]
    assert day.outcome().tally[STARTED] == 2


def test_lost_nodes_cost_the_last_functions_their_instances_which_start_elsewhere() -> None:
    tiny = Tiny([[NONE, NONE], [NONE, (1, 0)]], room_gb=[[2.0, 2.0], [1.0, 2.0]], start_s=6.0)
    day = tiny.day([[1, 0], [1, 0]], [[1, 0], [1, 0]])
    assert day.warm.tolist() == [[1, 0], [0, 1]]
    assert bill(day.outcome())[COLD] == pytest.approx(0.1)
    assert bill(day.outcome())[DELAY] == pytest.approx(0.020)


def test_a_callees_calls_come_from_where_its_caller_was_served() -> None:
    tiny = Tiny([[NONE, (4, 0)], [NONE, (6, 0)]], caller=[-1, 0])
    outcome = tiny.played([[0, 1], [0, 1]], [[0, 1], [0, 1]])
    # the caller's four calls go from a to b; four of the callee's six start there, two come from a themselves
    assert outcome.ledger[0, DELAY] == pytest.approx(4 * 0.020)
    assert outcome.ledger[1, DELAY] == pytest.approx(4 * 0.001 + 2 * 0.020)


def test_a_callee_whose_caller_was_not_called_is_called_from_its_own_regions() -> None:
    tiny = Tiny([[NONE, NONE], [NONE, (0, 6)]], caller=[-1, 0])
    outcome = tiny.played([[0, 0], [0, 1]], [[0, 0], [0, 1]])
    assert outcome.ledger[1, DELAY] == pytest.approx(6 * 0.001)


def test_the_four_parts_carry_their_prices() -> None:
    outcome = Tiny([[(3, 0)]]).played([[0, 0]])
    expected = [COLD_COST, 42 * IDLE_COST_PER_GB_S, 3 * 0.003, 0.0]
    assert outcome.parts == pytest.approx(expected)
    assert outcome.total == pytest.approx(sum(expected))
    missing = Tiny([[(3, 0)]], room_gb=[[0.0, 0.0]]).played([[0, 0]])
    assert missing.total == pytest.approx(10.0)


def test_minutes_of_the_warm_up_are_not_counted() -> None:
    tiny = Tiny([[(3, 0), (3, 0)]], warm_up=1)
    assert bill(tiny.played([[0, 0]], [[1, 0]])) == pytest.approx([0, 42, 0.003, 0])


CALLS = st.lists(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=3, max_size=3), min_size=2, max_size=4
)
PLANS = st.lists(st.integers(0, 3), min_size=24, max_size=24)


@settings(max_examples=40, deadline=None)
@given(calls=CALLS, numbers=PLANS, room=st.floats(0.0, 12.0), start_s=st.floats(0.0, 60.0))
def test_nothing_is_lost_or_made_up(
    calls: list[list[tuple[int, int]]], numbers: list[int], room: float, start_s: float
) -> None:
    tiny = Tiny(calls, room_gb=[[room, room / 2]] * 3, start_s=start_s)
    size = len(calls)
    plans = np.array(numbers[: 3 * size * 2]).reshape(3, size, 2)
    day = tiny.day()
    world = tiny.world()
    for minute in range(3):
        ledger = day.play(plans[minute].astype(np.int32))
        taken = day.warm.sum(axis=0)
        assert (taken <= world.conditions.room_gb[minute] + 1e-6).all()
        assert (ledger >= 0).all()
        need = np.zeros(size, np.int64)
        at = slice(*world.hits.first[minute : minute + 2])
        need[world.hits.row[at]] = world.hits.need[at]
        assert (day.warm.sum(axis=1) + ledger[:, MISSING] >= need - 1e-9).all()
    tally = day.outcome().tally
    lost = day.outcome().ledger[:, MISSING].sum()
    used = float(world.calls.sum() * 6.0 / 60.0)
    assert tally[USED] <= min(tally[ALLOCATED], used) + 1e-4
    if lost == 0:
        assert tally[USED] == pytest.approx(used, rel=1e-4)
