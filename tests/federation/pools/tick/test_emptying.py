"""A drained cluster's pools: replaced before they go, within the hour's moves, and kept where nobody has room."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from federation.pools.tick.fleet_tick import FleetPlan, FleetTerms, plan_fleet
from federation.pools.tick.records import decision
from federation.snapshot import Cluster, MemberState, Running
from prewarm.domain import Action
from prewarm.settings import PlacementPolicy
from tests.federation.pools.tick.made import NOW, calls_from, fleet, member, said, sure, tick_of

POLICY = PlacementPolicy(stale_s=1e9, delay_price_per_s=0.0)
TERMS = FleetTerms(POLICY, draining=frozenset({"a"}))


def running(*counts: tuple[int, int]) -> dict[str, Running]:
    """(existing, ready) of shop/f0, shop/f1, ..."""
    return {f"shop/f{row}": Running(many, many, ready) for row, (many, ready) in enumerate(counts)}


def drained(*counts: tuple[int, int]) -> Cluster:
    return member("a", state=MemberState.CORDONED, running=running(*counts))


def planned(
    wanted: list[int], *members: Cluster, last: FleetPlan | None = None, terms: FleetTerms = TERMS, now: float = NOW
) -> FleetPlan:
    tick = tick_of(sure(*wanted), warm=wanted)
    callers = calls_from(("eu",), *[[0.0]] * len(wanted))
    return plan_fleet(tick, fleet(*members, at=now), last, callers=callers, terms=terms, now=now)


def test_a_pool_starts_elsewhere_before_it_goes() -> None:
    first = planned([4], drained((4, 4)), member("b"))
    assert first.answer.plan.tolist() == [[4, 4]]
    waiting = planned([4], drained((4, 4)), member("b", running=running((4, 1))), last=first, now=NOW + 60)
    assert waiting.answer.plan.tolist() == [[4, 4]]
    done = planned([4], drained((4, 4)), member("b", running=running((4, 4))), last=waiting, now=NOW + 120)
    assert done.answer.plan.tolist() == [[0, 4]]


def test_the_record_says_what_stays_and_why() -> None:
    plan = planned([4], drained((4, 4)), member("b"))
    texts = [reason.text for reason in decision(plan, 0, 0).reasons if reason.factor == "draining"]
    assert texts == ["4 stay until others are ready"]


def test_where_nobody_has_room_the_pool_stays() -> None:
    plan = planned([4], drained((4, 4)), member("b", free_mib=(50,)))
    assert plan.answer.plan.tolist() == [[4, 0]]


def test_the_hours_moves_bound_what_is_under_way_and_small_pools_go_first() -> None:
    terms = replace(TERMS, policy=replace(POLICY, moves_per_hour=3))
    plan = planned([9, 3], drained((9, 9), (3, 3)), member("b"), terms=terms)
    assert plan.answer.plan.tolist() == [[9, 0], [3, 3]]
    assert plan.moves == ((NOW, 3),)


def test_a_person_who_pins_a_pool_there_is_heard() -> None:
    terms = replace(TERMS, overrides=(said(Action.PIN, "a", 2),))
    first = planned([4], drained((4, 4)), member("b"), terms=terms)
    last = planned([4], drained((2, 2)), member("b", running=running((4, 4))), terms=terms, last=first, now=NOW + 60)
    assert last.answer.plan[0, 0] == 2


def test_with_every_cluster_drained_nothing_moves() -> None:
    plan = planned([4], drained((4, 4)), terms=replace(TERMS, draining=frozenset({"a"})))
    assert plan.answer.plan.tolist() == [[4]]


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=40, max_size=40),
    st.integers(1, 30),
)
def test_nobody_is_colder_for_it_and_in_the_end_it_is_empty(wanted: list[int], luck: list[bool], budget: int) -> None:
    """Starts become ready at a tick of luck; what is wanted is ready somewhere all the time."""
    terms = replace(TERMS, policy=replace(POLICY, moves_per_hour=budget))
    here, there, ready = list(wanted), [0] * len(wanted), [0] * len(wanted)
    plan: FleetPlan | None = None
    for step, lucky in enumerate([*luck, *[True] * 40]):
        now = NOW + 1_800.0 * step
        a = drained(*zip(here, here, strict=True))
        b = member("b", running=running(*zip(there, ready, strict=True)))
        plan = planned(wanted, a, b, last=plan, terms=terms, now=now)
        here, there = (plan.answer.plan[:, column].tolist() for column in (0, 1))
        ready = [many if lucky else min(many, before) for many, before in zip(there, ready, strict=True)]
        assert all(x + y >= z for x, y, z in zip(here, ready, wanted, strict=True))
    assert np.sum(here) == 0
    assert there == wanted
