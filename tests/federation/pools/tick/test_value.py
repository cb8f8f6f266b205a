"""What a pool is worth where: near its callers, near what it calls, cheap, with room."""

from __future__ import annotations

import numpy as np
import pytest

from federation.pools.tick.sites import Sites, sites_of
from federation.pools.tick.value import POOL_FACTORS, Callers, closeness, network, pool_values
from prewarm.settings import Call, FactorWeights, PlacementPolicy
from tests.federation.pools.tick.made import NOW, calls_from, fleet, member

NEAR, FAR = 1 / (1 + 1 / 50), 1 / (1 + 40 / 50)


def two_sites() -> Sites:
    members = (member("a", region="eu", price=1.0), member("b", region="us", price=0.5, free_mib=[5_000, 5_000]))
    return sites_of(fleet(*members), policy=PlacementPolicy(), since_lost={}, now=NOW)


def test_closeness_is_a_half_at_fifty_ms_and_where_nobody_knows() -> None:
    assert closeness(np.array([0.0, 50.0, np.nan])).tolist() == [1.0, 0.5, 0.5]


def test_the_network_factor_weighs_regions_by_their_calls() -> None:
    found = network(two_sites(), calls_from(("eu", "us"), [3.0, 1.0], [0.0, 0.0]), np.zeros((2, 2), dtype=np.int64))

    assert found[0] == pytest.approx([(3 * NEAR + FAR) / 4, (3 * FAR + NEAR) / 4])
    assert found[1].tolist() == [0.5, 0.5]


def test_a_callee_is_drawn_to_where_its_caller_is_and_the_caller_to_it() -> None:
    graph = [Call("shop/f0", "shop/f1", calls_per_invocation=2.0)]
    rows = {"shop/f0": 0, "shop/f1": 1}
    callers = calls_from(("eu", "us"), [0.0, 5.0], [0.0, 0.0]).with_graph(graph, rows)
    before = np.array([[0, 4], [1, 1]])
    found = network(two_sites(), callers, before)

    assert callers.calls.tolist() == [10.0]
    assert found[1] == pytest.approx([FAR, NEAR])
    half = (NEAR + FAR) / 2
    assert found[0] == pytest.approx([(5 * FAR + 10 * half) / 15, (5 * NEAR + 10 * half) / 15])


def test_a_heavy_payload_makes_a_slow_link_longer() -> None:
    callers = Callers(
        ("eu",), np.zeros((2, 1)), np.array([0]), np.array([1]), np.array([1.0]), payload_kib=np.array([10_000.0])
    )
    found = network(two_sites(), callers, np.array([[1, 0], [0, 0]]))

    wire_ms = 10_000 * 8.192 / 1_000
    assert found[1] == pytest.approx([1 / (1 + (1 + wire_ms) / 50), 1 / (1 + (40 + wire_ms) / 50)])


def test_edges_to_functions_that_nobody_knows_are_left_out() -> None:
    callers = calls_from(("eu",), [1.0]).with_graph([Call("shop/f0", "shop/gone")], {"shop/f0": 0})

    assert len(callers.caller) == 0


def test_factors_times_weights_are_the_total_and_the_rest_of_the_weights_is_for_staying() -> None:
    sites, before = two_sites(), np.array([[1, 3]])
    values = pool_values(
        sites, calls_from(("eu",), [1.0]), before, held_mib=np.array([100, 300]), weights=FactorWeights()
    )

    for column in range(2):
        factors = values.of(0, column)
        assert [name for name, _, _ in factors] == list(POOL_FACTORS)
        assert sum(value * weight for _, value, weight in factors) == pytest.approx(values.total[0, column], abs=1e-12)
        assert sum(weight for _, _, weight in factors) + values.stay == pytest.approx(1.0)
        assert all(0 <= value <= 1 for _, value, _ in factors)
    told = {name: value for name, value, _ in values.of(0, 1)}
    assert told["price"] == pytest.approx(1 / 1.5)
    assert values.stay == pytest.approx(1.5 / 5.0)
    assert told["fit"] == pytest.approx(10_000 / 10_300)


def test_weights_that_are_all_zero_count_alike() -> None:
    nothing = FactorWeights(*[0.0] * 9)
    values = pool_values(
        two_sites(),
        calls_from(("eu",), [1.0]),
        np.zeros((1, 2), dtype=np.int64),
        held_mib=np.zeros(2, int),
        weights=nothing,
    )

    assert {weight for _, _, weight in values.of(0, 0)} == {1 / 7}
