"""Who calls the embedded world, and how its instances lie on nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.sim.demand import DAY_S, PAYLOAD_KIB, PEAK_S, Demand
from federation.sim.packing import pack
from federation.sim.shape import CLUSTERS, LINKS, REGION_SHARE, ClusterShape, links_of
from prewarm.sim.world_calls import population

PEOPLE = population(7)


def test_mixes_are_whole_and_follow_the_sun() -> None:
    demand = Demand(7, PEOPLE)
    europe = demand.mix(PEAK_S["eu"]).mean(axis=0)
    america = demand.mix(PEAK_S["us"]).mean(axis=0)

    assert demand.mix(1e6).sum(axis=1) == pytest.approx(np.ones(len(PEOPLE.keys)))
    assert demand.mix(3e4) == pytest.approx(demand.mix(3e4 + DAY_S))
    assert europe[0] > america[0]


def test_over_many_functions_a_region_has_its_share() -> None:
    rng_means = [Demand(seed, PEOPLE).mix((PEAK_S["eu"] + PEAK_S["us"]) / 2).mean(axis=0) for seed in range(12)]

    assert np.mean(rng_means, axis=0) == pytest.approx(list(REGION_SHARE.values()), abs=0.04)


def test_calls_that_the_graph_explains_do_not_come_from_outside() -> None:
    demand = Demand(7, PEOPLE)
    rows = {str(key): row for row, key in enumerate(PEOPLE.keys)}
    edge = demand.graph[0]
    rate = np.zeros(len(PEOPLE.keys))
    rate[rows[edge.caller]] = 10.0
    rate[rows[edge.callee]] = 10.0 * edge.calls_per_invocation + 1.0
    callers = demand.callers(rate, 1e6)

    assert callers.rate[rows[edge.callee]].sum() == pytest.approx(1.0)
    assert callers.rate[rows[edge.caller]].sum() == pytest.approx(10.0)
    assert callers.calls[0] == pytest.approx(10.0 * edge.calls_per_invocation)
    assert callers.regions == ("eu", "us")


def test_payloads_lie_in_their_range_and_leave_the_graph_as_it_is() -> None:
    graph = Demand(7, PEOPLE).graph

    assert [(one.caller, one.callee, one.calls_per_invocation) for one in graph] == [
        (one.caller, one.callee, one.calls_per_invocation) for one in PEOPLE.graph
    ]
    assert all(PAYLOAD_KIB[0] <= one.payload_kib <= PAYLOAD_KIB[1] for one in graph)
    assert len({one.payload_kib for one in graph}) > 10


@given(
    st.lists(st.tuples(st.integers(1, 900), st.integers(0, 40)), min_size=1, max_size=5),
    st.integers(0, 6),
    st.integers(100, 4_000),
    st.integers(1, 60),
)
@settings(max_examples=80, deadline=None)
def test_packing_keeps_every_instance_and_no_node_is_overfull(
    sizes: list[tuple[int, int]], nodes: int, node_mib: int, pods: int
) -> None:
    size, count = np.array([one for one, _ in sizes]), np.array([many for _, many in sizes])
    packed = pack(size, count, nodes=nodes, node_mib=node_mib, node_pods=pods)
    placed = count - packed.unbound

    assert (packed.unbound >= 0).all()
    assert (packed.memory_mib <= node_mib).all()
    assert (packed.pods <= pods).all()
    assert int(packed.memory_mib.sum()) == int(placed @ size)
    assert int(packed.pods.sum()) == int(placed.sum())
    for row in np.flatnonzero(packed.unbound):
        room = (node_mib - packed.memory_mib >= size[row]) & (packed.pods < pods)
        assert not room.any()


def test_links_are_the_same_both_ways_and_unknown_where_nothing_is_said() -> None:
    links = links_of((*CLUSTERS, ClusterShape("ap-1", "ap", nodes=1, node_mib=1)))

    for (a, b), (delay_ms, mbps) in LINKS.items():
        here, there = links.names.index(a), links.names.index(b)
        assert links.delay_ms[here, there] == links.delay_ms[there, here] == delay_ms
        assert links.bandwidth_mbps[here, there] == mbps
    assert np.isnan(links.delay_ms[0, 3])
    assert links.delay_ms[3, 3] == 1.0
