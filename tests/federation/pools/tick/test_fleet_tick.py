"""A tick over a fleet: totals stay as decided, clusters come and go, people are heard, and every change says why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.pools.tick.fleet_tick import FleetPlan, FleetTerms, plan_fleet
from federation.pools.tick.records import changed, decision, scores, unplaced
from federation.pools.tick.value import Callers
from federation.snapshot import Cluster, MemberState, Running
from prewarm.control import TickDecisions
from prewarm.domain import Action, FunctionKey
from prewarm.settings import FactorWeights, FunctionPolicy, PlacementPolicy
from tests.federation.pools.tick.made import NOW, calls_from, fleet, member, said, sure, tick_of

POLICY = PlacementPolicy(stale_s=1e9, delay_price_per_s=0.0)


def planned(
    tick: TickDecisions,
    *members: Cluster,
    last: FleetPlan | None = None,
    callers: Callers | None = None,
    terms: FleetTerms | None = None,
    now: float = NOW,
) -> FleetPlan:
    n = len(tick.to_count)
    return plan_fleet(
        tick,
        fleet(*members, at=now),
        last,
        callers=callers or calls_from(("eu",), *[[0.0]] * n),
        terms=terms or FleetTerms(POLICY),
        now=now,
    )


def totals(plan: FleetPlan) -> list[int]:
    return [int(total) for total in plan.answer.plan.sum(axis=1)]


def test_every_instance_that_was_decided_is_somewhere() -> None:
    plan = planned(tick_of(sure(3, 0, 7)), member("a"), member("b"))

    assert totals(plan) == [3, 0, 7]
    assert plan.names == ("a", "b")


def test_the_cheaper_of_two_equals_gets_the_pool() -> None:
    plan = planned(tick_of(sure(4)), member("a", price=1.3), member("b", price=0.7))

    assert plan.answer.plan.tolist() == [[0, 4]]


def test_the_pool_goes_where_the_calls_come_from() -> None:
    members = (member("a", region="eu"), member("b", region="us"))
    plan = planned(tick_of(sure(2, 2)), *members, callers=calls_from(("eu", "us"), [9.0, 1.0], [1.0, 9.0]))

    assert plan.answer.plan.tolist() == [[2, 0], [0, 2]]


def test_before_the_first_tick_a_plan_starts_from_what_runs() -> None:
    here = {"shop/f0": Running(wanted=2, existing=2, ready=2)}
    plan = planned(tick_of(sure(3), warm=[2]), member("a", price=0.5), member("b", price=2.0, running=here))

    assert plan.answer.before.tolist() == [[0, 2]]
    assert plan.answer.plan[0, 1] == 2


def test_nothing_stirs_while_nothing_changes() -> None:
    tick, members = tick_of(sure(3, 5)), (member("a"), member("b"))
    first = planned(tick, *members)
    second = planned(tick, *members, last=first, now=NOW + 60)

    assert second.answer.moved == 0
    assert list(changed(second)) == []


def test_a_dark_cluster_is_left_and_returned_to_only_when_it_is_trusted() -> None:
    tick = tick_of(sure(4))
    first = planned(tick, member("a", price=0.2), member("b"))
    assert first.answer.plan.tolist() == [[4, 0]]

    dark = member("a", price=0.2, state=MemberState.DARK, since=NOW + 60)
    second = planned(tick, dark, member("b"), last=first, now=NOW + 60)
    assert second.answer.plan.tolist() == [[0, 4]]
    assert second.answer.evicted.tolist() == [4]

    back = member("a", price=0.2, since=NOW + 120)
    waits = planned(tick, back, member("b"), last=second, now=NOW + 400)
    assert waits.answer.plan.tolist() == [[0, 4]]
    trusted = planned(tick, back, member("b"), last=waits, now=NOW + 420)
    assert trusted.answer.plan.tolist() == [[4, 0]]
    assert trusted.answer.improved.tolist() == [4]


def test_moves_for_the_better_are_limited_by_the_hour() -> None:
    tick = tick_of(sure(6))
    restless = FactorWeights(warm=0.0, steadiness=0.0)
    terms = FleetTerms(replace(POLICY, moves_per_hour=4, weights=restless))
    running = {"shop/f0": Running(6, 6, 6)}
    members = (member("a", price=0.2), member("b", price=2.0, running=running))
    first = planned(tick, *members, terms=terms)
    second = planned(tick, *members, last=first, terms=terms, now=NOW + 60)
    later = planned(tick, *members, last=second, terms=terms, now=NOW + 3_601)

    assert first.answer.plan.tolist() == [[4, 2]]
    assert second.answer.plan.tolist() == [[4, 2]]
    assert later.answer.plan.tolist() == [[6, 0]]
    assert first.moves == ((NOW, 4),)


def test_a_cordoned_cluster_gets_nothing_new_and_a_silent_one_is_not_touched() -> None:
    first = planned(tick_of(sure(3)), member("a", price=0.2), member("b"))
    cordoned = member("a", price=0.2, state=MemberState.CORDONED)
    grown = planned(tick_of(sure(5)), cordoned, member("b"), last=first)
    assert grown.answer.plan.tolist() == [[3, 2]]

    refused = member("a", price=0.2, state=MemberState.REFUSED)
    shrunk = planned(tick_of(sure(1)), refused, member("b"), last=grown)
    assert shrunk.answer.plan.tolist() == [[3, 0]]
    assert shrunk.answer.wanted.tolist() == [3]


def test_a_cluster_that_lost_a_node_keeps_what_still_fits() -> None:
    first = planned(tick_of(sure(8)), member("a", price=0.2, free_mib=[400, 400]), member("b"))
    assert first.answer.plan.tolist() == [[8, 0]]

    bound = {"shop/f0": Running(wanted=8, existing=8, ready=4, pending=4)}
    hurt = member("a", price=0.2, free_mib=[0], running=bound)
    second = planned(tick_of(sure(8)), hurt, member("b"), last=first, now=NOW + 60)
    assert second.answer.plan.tolist() == [[4, 4]]
    assert second.answer.evicted.tolist() == [4]


def test_room_that_other_workloads_were_promised_is_not_given_away() -> None:
    members = (member("a", price=0.2, free_mib=[1000]), member("b"))
    plan = planned(tick_of(sure(8)), *members, terms=FleetTerms(POLICY, promised_mib={"a": 700}))

    assert plan.answer.plan.tolist() == [[3, 5]]


def test_people_are_heard_by_cluster_and_the_record_says_so() -> None:
    words = (said(Action.FLOOR, "b", 2), said(Action.EXCLUDE, "a", row=1))
    plan = planned(tick_of(sure(3, 1)), member("a", price=0.2), member("b"), terms=FleetTerms(POLICY, words))

    assert plan.answer.plan.tolist() == [[1, 2], [0, 1]]
    reasons = {reason.factor: reason.text for reason in decision(plan, 0, 1).reasons}
    assert reasons["override"] == "floor in b by ann: launch"


def test_a_paused_placement_places_and_moves_nothing() -> None:
    first = planned(tick_of(sure(3)), member("a", price=0.2), member("b"))
    paused = FleetTerms(replace(POLICY, paused=True))
    second = planned(tick_of(sure(6)), member("a", price=3.0), member("b"), last=first, terms=paused)

    assert second.answer.plan.tolist() == [[3, 0]]
    assert second.answer.unplaced.tolist() == [3]
    assert decision(second, 0, 0).held == "placement is paused; kept 3"


def test_priority_decides_who_finds_room() -> None:
    terms = FleetTerms(POLICY, priority={FunctionKey("shop/f1"): 10})
    plan = planned(tick_of(sure(4, 4)), member("a", free_mib=[500]), terms=terms)

    assert totals(plan) == [1, 4]


def test_what_fits_nowhere_is_a_held_record_with_a_reason_for_every_cluster() -> None:
    dark = member("c", state=MemberState.DARK)
    plan = planned(tick_of(sure(9)), member("a", free_mib=[350]), member("b", free_mib=[90, 90]), dark)
    record = unplaced(plan, 0)

    assert totals(plan) == [3]
    assert record.held == "6 of 9 fit nowhere: an instance needs 100 MiB"
    assert record.cluster is None
    assert [reason.text for reason in record.reasons] == [
        "a: 50 MiB left",
        "b: holds the 0 that its nodes or a person allow",
        "c: does not answer",
    ]
    assert [one.id for one in changed(plan)] == [decision(plan, 0, 0).id, record.id]


def test_the_record_of_a_share_names_its_total_its_decision_and_scores_that_add_up() -> None:
    tick = tick_of(sure(3))
    plan = planned(tick, member("a", price=0.2), member("b"))
    record = decision(plan, 0, 0)

    assert (record.kind, record.cluster, record.from_count, record.to_count) == ("pool", "a", 0, 3)
    assert record.inputs["total"] == 3
    assert record.inputs["of_decision"] == tick.decision(0).id
    assert record.reasons[0].text == "3 of 3 in a"
    assert record.id != decision(plan, 0, 1).id
    found = scores(plan, 0)
    assert [one["cluster"] for one in found] == ["a", "b"]
    for one in found:
        factors = one["factors"]
        assert isinstance(factors, list)
        assert sum(factor["contribution"] for factor in factors) == pytest.approx(one["score"], abs=1e-9)


def test_scarce_room_is_named_in_score_and_reasons() -> None:
    plan = planned(tick_of(sure(6, 6)), member("a", price=0.2, free_mib=[700]), member("b"))
    factors = scores(plan, 0)[0]["factors"]

    assert isinstance(factors, list)
    assert plan.answer.room_price[0] > 0
    reasons = [reason.factor for reason in decision(plan, 0, 0).reasons]
    assert "scarcity" in reasons


def test_a_busy_far_region_gets_a_pool_sized_for_itself() -> None:
    policy = PlacementPolicy(stale_s=1e9, delay_price_per_s=3.0, own_pool_at=1.0)
    tick = tick_of([[0.999, 0.97, 0.9, 0.6, 0.3, 0.05]])
    members = (member("a", region="eu"), member("b", region="us"))
    callers = calls_from(("eu", "us"), [2.0, 2.0])
    plan = planned(tick, *members, callers=callers, terms=FleetTerms(policy))

    assert plan.opened.split.tolist() == [True]
    assert (plan.answer.plan > 0).all()
    assert int(plan.answer.wanted[0]) >= int(tick.to_count[0])
    far = int(np.flatnonzero(plan.opened.saved[0])[0])
    reasons = {reason.factor: reason for reason in decision(plan, 0, far).reasons}
    assert reasons["own_pool"].value == pytest.approx(3.0 * 120 * 0.039)
    shared = planned(tick, *members, callers=callers)
    assert (shared.answer.plan > 0).sum() == 1
    assert totals(shared) == tick.to_count.tolist()


@pytest.mark.parametrize(
    "tick",
    [
        tick_of([[0.99, 0.97, 0.9, 0.6]], overrides=[said(Action.PIN, None, 3)]),
        tick_of([[0.99, 0.97, 0.9, 0.6]], warm=[3], stale=[True]),
        tick_of([[0.99, 0.97, 0.9, 0.6]], entry=FunctionPolicy(max=3)),
    ],
    ids=["a person spoke", "data is stale", "a maximum"],
)
def test_own_pools_never_enlarge_what_may_not_grow(tick: TickDecisions) -> None:
    policy = PlacementPolicy(stale_s=1e9, delay_price_per_s=100.0, own_pool_at=0.1)
    members = (member("a", region="eu"), member("b", region="us"))
    plan = planned(tick, *members, callers=calls_from(("eu", "us"), [9.0, 9.0]), terms=FleetTerms(policy))

    assert totals(plan) == [3]


def test_functions_and_clusters_that_appear_keep_the_plan_of_the_others() -> None:
    first = planned(tick_of(sure(2, 3)), member("b"), member("c", price=3.0))
    here = {"shop/f2": Running(1, 1, 1)}
    second = planned(
        tick_of(sure(2, 3, 1), warm=[2, 3, 1]),
        member("a", price=5.0, running=here),
        member("b"),
        member("c", price=3.0),
        last=first,
        terms=FleetTerms(replace(POLICY, moves_per_hour=0)),
    )

    assert second.answer.before.tolist() == [[0, 2, 0], [0, 3, 0], [1, 0, 0]]
    assert second.answer.moved == 0


def test_in_shadow_every_plan_starts_from_what_members_report() -> None:
    here = {"shop/f0": Running(wanted=2, existing=2, ready=2), "shop/f1": Running(wanted=1, existing=1, ready=1)}
    members = (member("a", running=here), member("b"))
    tick = tick_of(sure(4, 4))
    shadow = FleetTerms(POLICY, followed=np.array([False, True]))
    first = planned(tick, *members, terms=shadow)
    second = planned(tick, *members, last=first, terms=shadow, now=NOW + 60)

    assert first.answer.before.tolist() == [[2, 0], [1, 0]]
    assert second.answer.before.tolist() == [[2, 0], first.answer.plan[1].tolist()]
    assert second.answer.plan.tolist() == first.answer.plan.tolist()


def test_where_objects_can_only_be_scaled_nothing_is_planned_where_there_is_none() -> None:
    """The cheap cluster would be better, but no Deployment of that name is there; at zero instances it counts."""
    here = {"shop/f0": Running(wanted=0, existing=0, ready=0)}
    members = (member("a", price=0.2), member("b", price=3.0, running=here))
    free = planned(tick_of(sure(2)), *members)
    bound = planned(tick_of(sure(2, 1)), *members, terms=FleetTerms(POLICY, deployed_only=True))

    assert free.answer.plan.tolist() == [[2, 0]]
    assert bound.answer.plan.tolist() == [[0, 2], [0, 0]]
    assert bound.answer.unplaced.tolist() == [0, 1]


def test_a_fleet_without_clusters_places_nothing_and_says_so() -> None:
    plan = planned(tick_of(sure(2)))

    assert plan.answer.unplaced.tolist() == [2]
    assert next(changed(plan)).held == "2 of 2 fit nowhere: an instance needs 100 MiB"


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=8),
    st.lists(st.integers(0, 1500), min_size=1, max_size=4),
    st.lists(st.integers(0, 6), min_size=1, max_size=8),
)
@settings(max_examples=40, deadline=None)
def test_totals_and_rooms_hold_over_two_ticks(first: Sequence[int], free: Sequence[int], second: Sequence[int]) -> None:
    members = tuple(member(f"c{at}", free_mib=[mib]) for at, mib in enumerate(free))
    plan = planned(tick_of(sure(*first)), *members)
    longer = [*second, *[0] * max(0, len(first) - len(second))]
    after = planned(tick_of(sure(*longer)), *members, last=plan, now=NOW + 60)

    for one in (plan, after):
        assert (one.answer.plan.sum(axis=1) + one.answer.unplaced == one.tick.to_count).all()
        assert (100 * one.answer.plan.sum(axis=0) <= np.array(free)).all()
