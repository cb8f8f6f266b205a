"""What holds for every plan, whatever was asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from federation.pools.plan import plan_pools
from federation.pools.question import ClusterRoom, Limits, PoolDemand, Preference, Steadiness
from tests.federation.pools.made import Drawn, drawn


@given(drawn())
@settings(max_examples=80, deadline=None)
def test_totals_are_exact_and_no_room_is_exceeded(question: Drawn) -> None:
    plan = question.plan(question.now)

    assert (plan.plan >= 0).all()
    assert (plan.plan.sum(axis=1) + plan.unplaced == question.now.wanted).all()
    assert (plan.unplaced >= 0).all()
    held = question.now.size @ plan.plan
    assert (held <= question.where.room).all()
    assert (plan.room_left == question.where.room - held).all()
    assert not plan.plan[~question.allowed].any()


@given(drawn())
@settings(max_examples=80, deadline=None)
def test_an_instance_is_unplaced_only_where_nothing_fits(question: Drawn) -> None:
    plan = question.plan(question.now)

    for row in np.flatnonzero(plan.unplaced):
        left = plan.room_left[question.allowed[row]]
        assert (left < question.now.size[row]).all()


@given(drawn())
@settings(max_examples=80, deadline=None)
def test_moves_are_the_change_in_demand_and_nothing_more(question: Drawn) -> None:
    before = question.plan(question.then)
    after = question.plan(question.now, before.plan.astype(np.int64))

    # Instances that found no place before may find one now: they count as wanted then, and are new now.
    change = np.abs(after.wanted - before.plan.sum(axis=1)).sum()
    assert after.moved == change - after.unplaced.sum()
    same = after.wanted == before.plan.sum(axis=1)
    assert (after.plan[same] == before.plan[same]).all()
    grows = after.wanted >= before.plan.sum(axis=1)
    assert (after.plan[grows] >= before.plan[grows]).all()
    assert (after.plan[~grows] <= before.plan[~grows]).all()
    assert not after.evicted.any()


@given(drawn())
@settings(max_examples=50, deadline=None)
def test_a_plan_for_the_same_question_stays_as_it_is(question: Drawn) -> None:
    first = question.plan(question.now)
    again = question.plan(question.now, first.plan.astype(np.int64))

    assert again.moved == 0


@given(drawn())
@settings(max_examples=60, deadline=None)
def test_a_cluster_that_lost_room_is_left_by_no_more_than_must_go(question: Drawn) -> None:
    before = question.plan(question.then)
    room = question.where.room.copy()
    room[0] //= 2
    shrunk = ClusterRoom(room, question.where.seed)
    after = question.plan(question.then, before.plan.astype(np.int64), where=shrunk)

    assert (question.then.size @ after.plan <= room).all()
    assert (after.plan[:, 1:] >= before.plan[:, 1:]).all()
    if question.then.size @ before.plan[:, 0] <= room[0]:
        assert after.moved == before.unplaced.sum() - after.unplaced.sum()
    # Nobody left in vain: what is free now would not hold the smallest of those that went.
    gone = np.flatnonzero(after.plan[:, 0] < before.plan[:, 0])
    back = room[0] - question.then.size @ np.minimum(before.plan[:, 0], after.plan[:, 0])
    if len(gone):
        assert back < question.then.size[gone].max()


@given(drawn())
@settings(max_examples=60, deadline=None)
def test_the_order_of_pools_and_clusters_does_not_matter(question: Drawn) -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(question.pools), rng.permutation(question.clusters)
    before = question.plan(question.then)
    straight = question.plan(question.now, before.plan.astype(np.int64), moves=3)

    turned = plan_pools(
        PoolDemand(question.now.wanted[rows], question.now.size[rows], question.names[rows]),
        ClusterRoom(question.where.room[columns], question.where.seed[columns]),
        preference=Preference(question.value[np.ix_(rows, columns)], question.temperature),
        limits=Limits(allowed=question.allowed[np.ix_(rows, columns)]),
        previous=before.plan[np.ix_(rows, columns)].astype(np.int64),
        steadiness=Steadiness(moves=3),
    )

    assert (turned.plan == straight.plan[np.ix_(rows, columns)]).all()


@given(drawn())
@settings(max_examples=60, deadline=None)
def test_moves_for_the_better_raise_the_value_and_keep_their_number(question: Drawn) -> None:
    before = question.plan(question.then).plan.astype(np.int64)
    rng = np.random.default_rng(1)
    question.value = np.round(rng.random(question.value.shape), 1)
    question.temperature = 0.0
    still = question.plan(question.then, before)
    moved = question.plan(question.then, before, moves=2)

    assert moved.improved.sum() <= 2
    assert (question.then.size @ moved.plan <= question.where.room).all()
    assert moved.unplaced.sum() <= still.unplaced.sum()
    if still.unplaced.any():
        return  # a move may have made room for something that found none
    gain = ((moved.plan - still.plan) * question.value).sum()
    assert gain >= moved.improved.sum() * 0.05 - 1e-9
    assert np.abs(moved.plan - still.plan).sum() == 2 * moved.improved.sum()


@given(drawn())
@settings(max_examples=50, deadline=None)
def test_no_pool_is_starved_while_another_has_two_in_the_only_cluster(question: Drawn) -> None:
    only = np.zeros_like(question.allowed)
    only[:, 0] = True
    question.limits = Limits(allowed=only)
    plan = question.plan(replace(question.now, size=np.ones(question.pools, dtype=np.int64)))

    wanting = question.now.wanted > 0
    if plan.unplaced.any() and wanting.any():
        fewest = plan.plan[wanting, 0].min()
        assert fewest >= 1 or plan.plan[:, 0].max() <= 1
