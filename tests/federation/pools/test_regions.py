"""A place gets a pool of its own where the delay saved is worth what pooling saved, and not otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.pools.regions import Demand, OpeningRule, OpenPools, open_regions
from federation.pools.split import least_cost, thinned
from tests.federation.pools.test_split import levels

DELAY_S = np.array([[0.001, 0.1], [0.1, 0.001]])


def demand(calls: list[list[float]], *chances: list[float], delay_s: np.ndarray = DELAY_S) -> Demand:
    """Functions that call from each of the regions so often a step; an instance pays from 11 % on."""
    n = len(calls)
    return Demand(levels(*chances), np.full(n, 0.8), np.full(n, 0.1), np.full(n, 0.1 / 0.9), np.array(calls), delay_s)


def opened(question: Demand, *, theta: float = 1.0, before: list[list[bool]] | None = None) -> OpenPools:
    n, c = len(question.limit), question.delay_s.shape[1]
    was = None if before is None else np.array(before)
    rule = OpeningRule(delay_price_per_s=3.0, theta=theta)
    return open_regions(
        question, np.zeros(n, dtype=np.int64), usable=np.ones((n, c), dtype=np.bool_), rule=rule, before=was
    )


def test_a_busy_far_region_gets_its_own_and_a_quiet_one_does_not() -> None:
    busy = [1.0] * 6
    found = opened(demand([[100.0, 100.0], [100.0, 0.1]], busy, busy))

    assert found.open.tolist() == [[True, True], [True, False]]
    assert found.split.tolist() == [True, False]
    assert found.shares[0] == pytest.approx([0.5, 0.5])
    assert found.shares[1] == pytest.approx([1.0, 0.0])


def test_the_rule_is_the_price_of_delay_against_theta_times_pooling() -> None:
    chances = [0.95, 0.7, 0.3, 0.1]
    one = demand([[10.0, 10.0]], chances)
    cold, idle = np.array([0.8]), np.array([0.1])
    whole, half = least_cost(levels(chances), cold, idle)[0], least_cost(thinned(levels(chances), 0.5), cold, idle)[0]
    saved, cost = 3.0 * 10 * 0.099, 2 * half - whole

    found = opened(one)
    assert found.saved[0, 1] == pytest.approx(saved)
    assert found.cost[0, 1] == pytest.approx(cost, rel=1e-4)
    assert opened(one, theta=0.99 * saved / cost).split.all()
    assert not opened(one, theta=1.01 * saved / cost).split.any()


def test_a_pool_that_is_open_stays_while_it_saves_most_of_what_opening_asks() -> None:
    one = demand([[10.0, 10.0]], [0.95, 0.7, 0.3, 0.1])
    found = opened(one)
    theta = 1.2 * float(found.saved[0, 1] / found.cost[0, 1])

    assert not opened(one, theta=theta).split.any()
    assert opened(one, theta=theta, before=[[True, True]]).split.all()
    assert not opened(one, theta=1.5 * theta, before=[[True, True]]).split.any()


def test_no_pool_is_opened_that_would_hold_nothing() -> None:
    rare = [0.15]
    found = opened(demand([[500.0, 500.0]], rare))

    assert found.open.tolist() == [[True, False]]


def test_no_pool_is_opened_where_none_may_be() -> None:
    question = demand([[100.0, 100.0]], [1.0] * 6)
    closed = np.array([[True, False]])
    found = open_regions(question, np.array([0]), usable=closed, rule=OpeningRule())

    assert found.open.tolist() == [[True, False]]


def test_the_most_profitable_pool_opens_first_and_may_make_the_next_one_idle() -> None:
    """b and c are near each other and far from home: one of them is enough."""
    delay = np.array([[0.001, 0.1, 0.1], [0.1, 0.001, 0.002], [0.1, 0.002, 0.001]])
    found = opened(demand([[1.0, 8.0, 9.0]], [0.95, 0.6, 0.2], delay_s=delay))

    assert found.open.tolist() == [[True, False, True]]
    assert found.shares[0] == pytest.approx([1 / 18, 0.0, 17 / 18])


def test_functions_without_calls_keep_one_pool_and_its_share() -> None:
    found = opened(demand([[0.0, 0.0]], [0.9]))

    assert found.open.tolist() == [[True, False]]
    assert found.shares.tolist() == [[1.0, 0.0]]


@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_shares_are_whole_follow_the_nearest_pool_and_every_opening_pays(
    seed: int, functions: int, clusters: int, regions: int
) -> None:
    rng = np.random.default_rng(seed)
    chances = [sorted(rng.random(rng.integers(1, 7)).tolist(), reverse=True) for _ in range(functions)]
    delay = rng.uniform(0.001, 0.2, (regions, clusters))
    question = demand(rng.gamma(0.5, 20, (functions, regions)).tolist(), *chances, delay_s=delay)
    found = opened(question)

    assert found.shares.sum(axis=1) == pytest.approx(np.ones(functions))
    assert not found.shares[~found.open].any()
    assert found.open[:, 0].all()
    extra = found.open.copy()
    extra[:, 0] = False
    assert (found.saved[extra] > found.cost[extra]).all()
    for row in range(functions):
        nearest = np.where(found.open[row], delay, np.inf).argmin(axis=1)
        served = np.bincount(nearest, weights=question.calls[row], minlength=clusters)
        assert found.shares[row] == pytest.approx(served / served.sum())
