"""Bounds, told shares and moves together, for whatever is asked."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.pools.plan import plan_pools
from federation.pools.question import Limits, PoolPlan, Preference, Steadiness
from prewarm.domain import IntArray
from tests.federation.pools.made import Drawn, drawn


def bounded(question: Drawn, seed: int, previous: IntArray | None = None, moves: int = 0) -> tuple[PoolPlan, Limits]:
    """The question with a least, a most and told shares for some of its pools."""
    rng = np.random.default_rng(seed)
    shape = question.value.shape
    least = np.where(rng.random(shape) < 0.15, rng.integers(1, 4, shape), 0)
    most = np.where(rng.random(shape) < 0.3, rng.integers(0, 5, shape), 99)
    limits = Limits(question.allowed, least.astype(np.int64), most.astype(np.int64))
    told = rng.random((shape[0], 1)) < 0.4
    shares = np.where(told, rng.integers(0, 3, shape), 0).astype(np.float64)
    plan = plan_pools(
        question.now,
        question.where,
        preference=Preference(question.value, question.temperature, shares),
        limits=limits,
        previous=previous,
        steadiness=Steadiness(moves=moves, stay=0.1),
    )
    return plan, limits


@given(drawn(), st.integers(0, 2**31))
@settings(max_examples=80, deadline=None)
def test_no_cluster_holds_more_than_its_most_or_its_room(question: Drawn, seed: int) -> None:
    plan, limits = bounded(question, seed)

    assert (plan.plan[question.allowed] <= limits.most[question.allowed]).all()
    assert not plan.plan[~question.allowed].any()
    assert (question.now.size @ plan.plan <= question.where.room).all()


@given(drawn(), st.integers(0, 2**31))
@settings(max_examples=80, deadline=None)
def test_what_people_insist_on_is_there_as_far_as_there_is_room(question: Drawn, seed: int) -> None:
    plan, limits = bounded(question, seed)
    asked = np.where(question.allowed, np.minimum(limits.least, limits.most), 0)

    for column in range(question.clusters):
        if question.now.size @ asked[:, column] <= question.where.room[column]:
            assert (plan.plan[:, column] >= asked[:, column]).all()
    assert (plan.plan.sum(axis=1) + plan.unplaced == plan.wanted).all()
    assert (plan.wanted >= question.now.wanted).all()


@given(drawn(), st.integers(0, 2**31), st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_moves_beyond_the_change_are_no_more_than_allowed(question: Drawn, seed: int, moves: int) -> None:
    before = bounded(question, seed)[0].plan.astype(np.int64)
    plan, _ = bounded(question, seed, before, moves)

    assert plan.improved.sum() <= moves
    fresh = plan.wanted - before.sum(axis=1) - plan.unplaced
    assert plan.moved <= np.abs(fresh).sum() + 2 * plan.improved.sum()


@given(drawn(), st.integers(0, 2**31))
@settings(max_examples=50, deadline=None)
def test_the_same_question_has_the_same_answer(question: Drawn, seed: int) -> None:
    one, two = bounded(question, seed, moves=3)[0], bounded(question, seed, moves=3)[0]

    assert (one.plan == two.plan).all()
    assert (one.room_price == two.room_price).all()
