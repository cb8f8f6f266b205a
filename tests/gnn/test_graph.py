"""The graph: every value where the table says, unknown apart from zero, and made anew at the price of what changed."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.workload import Caller, GpuNeed
from federation.snapshot import Ages, Headroom, Links, MemberState, Quota, Snapshot, Taint
from gnn.graph.build import GraphBuilder
from gnn.graph.clusters import POOLS, cluster_rows, renewed
from gnn.graph.exchange import as_hetero, as_networkx, from_networkx
from gnn.graph.features import HELD_AT, TABLE, Shape, column, encode, width
from gnn.graph.functions import Facts, facts_of
from gnn.graph.network import CANDIDATES, NEAREST, aligned, candidates, from_callers, near_links, shortlist
from gnn.graph.value import NODE_TYPES, RELATIONS, Graph
from prewarm.settings import Call
from tests.federation.building import NOW, Wiring, cluster, fleet, workload
from tests.gnn.fleets import key, some_cluster, some_facts, some_fleet


def at(kind: str, name: str) -> int:
    """Where a feature's value is among the encoded columns."""
    before = TABLE[kind][: column(kind, name)]
    return sum(1 + one.flagged for one in before)


def told(graph: Graph, kind: str, node: str, feature: str) -> float:
    """A node's encoded feature."""
    row = graph.row(kind, node)
    assert row is not None
    return float(graph.nodes[kind][row, at(kind, feature)])


def unknown(graph: Graph, kind: str, node: str, feature: str) -> float:
    """A node's flag of the unknown."""
    row = graph.row(kind, node)
    assert row is not None
    return float(graph.nodes[kind][row, at(kind, feature) + 1])


def logged(value: float, scale: float, step: float = 1.0) -> float:
    """What the table says of a log feature."""
    return float(np.log1p(value / step) / np.log1p(scale / step))


def _two() -> Snapshot:
    a = cluster("a", region="eu").nodes(3, cpu="16", memory="64Gi", free={"cpu": "4", "memory": "16Gi"})
    a = a.nodes(1, cpu="32", memory="64Gi", gpus=(1000, 250), taints=(Taint("gpu", "", "NoSchedule"),))
    a = a.runs("shop/cart", 4, existing=3, ready=2, pending=1)
    b = cluster("b", region="us", price=1.5).nodes(2, cpu="8", memory="32Gi").runs("shop/cart", 1)
    wiring = Wiring({("a", "b"): 80.0}, {("a", "b"): 1000.0}, (Call("shop/cart", "shop/stock", 2.0, payload_kib=8.0),))
    return fleet(a, b, wiring=wiring)


_FACTS = {
    "shop/cart": Facts(10.0, 500.0, 2.0**29, 0.0, 200.0, (Caller(6.0, region="eu"), Caller(4.0, region="us"))),
    "shop/stock": Facts(demand_per_s=None),
}


def test_a_small_fleet_says_what_it_is() -> None:
    graph = GraphBuilder().build(_two(), _FACTS)
    assert graph.names["cluster"] == ("a", "b")
    assert graph.names["region"] == ("eu", "us")
    assert graph.names["function"] == ("shop/cart", "shop/stock")
    assert told(graph, "cluster", "a", "cpu") == pytest.approx(logged(80.0, 4096.0))
    assert told(graph, "cluster", "a", "free_cpu") == pytest.approx(44 / 80)
    assert told(graph, "cluster", "a", "free_memory") == pytest.approx(112 / 256)
    assert told(graph, "cluster", "a", "largest_free_cpu") == pytest.approx(logged(32.0, 128.0))
    assert told(graph, "cluster", "a", "free_gpus") == pytest.approx(logged(1.25, 1000.0))
    assert told(graph, "cluster", "a", "whole_gpus") == pytest.approx(logged(1.0, 1000.0))
    assert told(graph, "cluster", "b", "price") == pytest.approx(0.75)
    assert told(graph, "cluster", "a", "pending") == pytest.approx(logged(1.0, 1000.0))
    assert told(graph, "function", "shop/cart", "wanted") == pytest.approx(logged(5.0, 1000.0))
    assert told(graph, "function", "shop/cart", "ready") == pytest.approx(logged(3.0, 1000.0))
    assert told(graph, "function", "shop/cart", "clusters") == pytest.approx(logged(2.0, 100.0))
    assert told(graph, "function", "shop/stock", "calls_in") == pytest.approx(logged(20.0, 10_000.0))
    assert told(graph, "region", "eu", "calls") == pytest.approx(logged(6.0, 100_000.0))
    assert told(graph, "region", "us", "free_cpu") == pytest.approx(1.0)


def test_edges_of_a_small_fleet() -> None:
    graph = GraphBuilder().build(_two(), _FACTS)
    calls = graph.edges["calls"]
    assert calls.ends.T.tolist() == [[0, 1]]
    wanted = [logged(2, 100, 0.1), logged(8, 1024), logged(20, 10_000), 0.0, 0.0]
    assert calls.values[0].tolist() == pytest.approx(wanted)
    runs = graph.edges["runs_on"]
    assert runs.ends.T.tolist() == [[0, 0], [0, 1]]
    assert runs.values[:, 3].tolist() == pytest.approx([0.75, 0.25])
    assert graph.edges["warm_on"].values[:, 1].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert graph.edges["link"].ends.T.tolist() == [[0, 1], [1, 0]]
    assert graph.edges["link"].values[0].tolist() == pytest.approx([logged(80, 1000), 0.0, logged(1000, 100_000), 0.0])
    assert graph.edges["in_region"].ends.T.tolist() == [[0, 0], [1, 1]]
    assert graph.edges["in_region"].values.shape == (2, 0)
    assert graph.edges["part_of"].values[:, 0].tolist() == pytest.approx([48 / 80, 32 / 80, 1.0])
    assert graph.edges["called_from"].values[:, 1].tolist() == pytest.approx([0.6, 0.4])


def test_a_candidate_says_how_far_its_callers_are_and_what_fits() -> None:
    graph = GraphBuilder().build(_two(), _FACTS)
    may = graph.edges["may_run_on"]
    rows = {tuple(end): values for end, values in zip(may.ends.T.tolist(), may.values.tolist(), strict=True)}
    assert rows[0, 0] == pytest.approx([logged(0.4 * 80, 1000), 0.0, logged(88, 1000), 0.0])  # 44 cores / 0.5
    assert rows[0, 1][0] == pytest.approx(logged(0.6 * 80, 1000))
    assert rows[1, 0] == [0.0, 1.0, 0.0, 1.0]  # nobody knows who calls it from outside, nor what it needs


def test_unknown_is_a_flag_and_not_a_zero_that_means_something() -> None:
    graph = GraphBuilder().build(_two(), _FACTS)
    assert (told(graph, "cluster", "a", "start"), unknown(graph, "cluster", "a", "start")) == (0.0, 1.0)
    assert (told(graph, "cluster", "a", "used_cpu"), unknown(graph, "cluster", "a", "used_cpu")) == (0.0, 1.0)
    assert unknown(graph, "function", "shop/stock", "demand") == 1.0
    assert unknown(graph, "function", "shop/cart", "demand") == 0.0
    assert (told(graph, "function", "shop/cart", "calls_in"), unknown(graph, "function", "shop/cart", "calls_in")) == (
        0.0,
        0.0,
    )
    assert graph.standins["cluster.start"] == 2
    assert graph.standins["function.demand"] == 1


def test_use_is_that_of_the_nodes_whose_use_is_known() -> None:
    made = cluster("a").nodes(1, cpu="10", memory="10Gi").nodes(1, cpu="30", memory="10Gi").build()
    used = replace(made.nodes, used=np.array([[5_000.0, np.nan], [np.nan, np.nan]]))
    row = cluster_rows(replace(made, nodes=used)).row
    assert row[column("cluster", "used_cpu")] == 0.5
    assert np.isnan(row[column("cluster", "used_memory")])


@pytest.mark.parametrize(
    ("value", "encoded", "flag", "counted"),
    [
        (1.0, 0.5, 0.0, 0),
        (4.0, 2.0, 0.0, 0),
        (1e12, HELD_AT, 0.0, 1),
        (float("inf"), 0.0, 1.0, 1),
        (float("nan"), 0.0, 1.0, 1),
        (-1.0, 0.0, 1.0, 1),
        (1e300, HELD_AT, 0.0, 1),
    ],
)
def test_what_telemetry_may_say_of_a_price(value: float, encoded: float, flag: float, counted: int) -> None:
    raw = np.zeros((1, len(TABLE["cluster"])))
    raw[0, column("cluster", "price")] = value
    tally: Counter[str] = Counter()
    out = encode("cluster", raw, tally)
    assert out[0, at("cluster", "price")] == encoded
    assert out[0, at("cluster", "price") + 1] == flag
    assert tally["cluster.price"] == counted


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=26, max_size=26))
@settings(deadline=None)
def test_whatever_is_encoded_is_finite_and_within_bounds(values: list[float]) -> None:
    out = encode("cluster", np.array([values]), Counter())
    assert np.isfinite(out).all()
    assert out.min() >= 0.0
    assert out.max() <= HELD_AT


def test_the_table_is_complete_and_its_numbers_make_sense() -> None:
    assert set(TABLE) == {*NODE_TYPES, *(one.name for one in RELATIONS)}
    for kind, features in TABLE.items():
        names = [one.name for one in features]
        assert len(set(names)) == len(names), kind
        assert all(one.scale > 0 and one.step > 0 and one.unit for one in features)
        assert width(kind) == len(features) + sum(one.flagged for one in features)
        assert not any(one.shape is Shape.FLAG and one.flagged for one in features)


def _finite(graph: Graph) -> None:
    for kind in NODE_TYPES:
        assert graph.nodes[kind].shape == (len(graph.names[kind]), width(kind))
        assert np.isfinite(graph.nodes[kind]).all()
    for name, source, target in RELATIONS:
        edges = graph.edges[name]
        assert edges.ends.shape == (2, len(edges.values))
        assert edges.values.shape[1] == width(name)
        assert np.isfinite(edges.values).all()
        for end, kind in zip(edges.ends, (source, target), strict=True):
            assert ((end >= 0) & (end < len(graph.names[kind]))).all()


@pytest.mark.parametrize(("clusters", "functions"), [(0, 0), (0, 3), (1, 0), (3, 1), (2, 40), (300, 20)])
def test_empty_types_lone_nodes_and_hundreds_of_clusters_are_finite(clusters: int, functions: int) -> None:
    rng = np.random.default_rng(clusters)
    graph = GraphBuilder().build(some_fleet(clusters, functions, rng), some_facts(functions, rng))
    _finite(graph)
    assert len(graph.names["cluster"]) == clusters
    assert len(graph.names["function"]) == functions


def test_a_cluster_with_many_kinds_of_nodes_keeps_its_largest_pools() -> None:
    one = cluster("a")
    for kind in range(20):
        one = one.nodes(kind + 1, labels={"kind": str(kind)}, cpu="1", memory="1Gi")
    rows = cluster_rows(one.build())
    assert rows.pools.shape == (POOLS, len(TABLE["pool"]))
    assert rows.pools[:, 0].tolist() == [20, 19, 18, 17, 16, 15, 14, sum(range(1, 14))]
    assert rows.pool_share.sum() == pytest.approx(1.0)


@given(seed=st.integers(0, 10_000), changes=st.lists(st.integers(0, 5), max_size=6))
@settings(deadline=None, max_examples=30)
def test_built_step_by_step_or_at_once_it_is_the_same(seed: int, changes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    snapshot, facts = some_fleet(6, 8, rng), some_facts(8, rng)
    builder = GraphBuilder()
    builder.build(snapshot, facts)
    for number in changes:
        changed = some_cluster(number, rng, 9).build()  # may run a function that nobody ran before
        clusters = [changed if one.name == changed.name else one for one in snapshot.clusters]
        snapshot = replace(snapshot, at=snapshot.at + 30.0, clusters=tuple(clusters))
        if number == 5:
            facts = some_facts(8, rng)
        if number == 4:
            snapshot = replace(snapshot, clusters=snapshot.clusters[1:], links=Links(), calls=())
        stepwise, at_once = builder.build(snapshot, facts), GraphBuilder().build(snapshot, facts)
        _same(stepwise, at_once)
        assert len(stepwise.names["cluster"]) == len(snapshot.clusters)


def _same(one: Graph, other: Graph) -> None:
    assert one.names == other.names
    assert one.standins == other.standins
    for kind in NODE_TYPES:
        assert np.array_equal(one.nodes[kind], other.nodes[kind])
    for name, _, _ in RELATIONS:
        assert np.array_equal(one.edges[name].ends, other.edges[name].ends)
        assert np.array_equal(one.edges[name].values, other.edges[name].values)


def test_ages_grow_although_nothing_changed() -> None:
    snapshot, builder = _two(), GraphBuilder()
    young = builder.build(snapshot, _FACTS)
    old = builder.build(replace(snapshot, at=NOW + 600.0), _FACTS)
    assert told(young, "cluster", "a", "nodes_age") == 0.0
    assert told(old, "cluster", "a", "nodes_age") == pytest.approx(logged(600.0, 3600.0))


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ({"ages": Ages(NOW - 1.0, NOW - 2.0, NOW, NOW, NOW - 3.0), "since": NOW, "notes": ("a note",)}, False),
        ({"price": 2.0}, True),
        ({"start_s": 4.0}, True),
        ({"state": MemberState.SLOW}, True),
        ({"headroom": Headroom(2, {"cpu": 4_000}, 60.0)}, True),
        ({"quotas": (Quota("shop", "team", {"pods": 10}, {"pods": 3}),)}, True),
        ({"running": {}}, True),
    ],
)
def test_a_member_of_which_only_the_ages_are_new_is_not_read_again(change: dict[str, Any], anew: bool) -> None:
    one = _two().clusters[0]
    kept = renewed(one, None)
    assert renewed(one, kept) is kept
    other = replace(one, **change)
    now, read = renewed(other, kept), cluster_rows(other)
    assert (now.pools is not kept.pools) == anew
    assert now.seen is other
    assert now.stamps.tolist() == read.stamps.tolist()
    assert np.array_equal(now.row, read.row, equal_nan=True)
    assert now.keys == read.keys


def test_a_changed_cluster_among_a_hundred_costs_little() -> None:
    rng = np.random.default_rng(0)
    snapshot, facts, builder = some_fleet(100, 500, rng), some_facts(500, rng), GraphBuilder()
    builder.build(snapshot, facts)
    best = 1.0
    for number in range(20):
        clusters = list(snapshot.clusters)
        clusters[number] = replace(clusters[number], price=1.0 + number)
        snapshot = replace(snapshot, clusters=tuple(clusters))
        start = time.process_time()
        builder.build(snapshot, facts)
        best = min(best, time.process_time() - start)
    assert best < 0.015  # 0.002-0.004 on a machine that is not shared


def test_candidates_are_near_have_room_and_answer() -> None:
    closeness = np.array([np.arange(40.0), np.full(40, np.nan)])
    free, usable = np.ones(40), np.ones(40, np.bool_)
    usable[0], free[1] = False, 0.0  # the nearest is dark, the next is full
    free[30:] = 2.0  # no cluster is like that; it makes the roomiest ten unmistakable
    ends = candidates(closeness, shortlist(closeness), free, usable)
    assert sorted(ends[1][ends[0] == 0].tolist()) == list(range(2, 10))
    assert sorted(ends[1][ends[0] == 1].tolist()) == list(range(30, 38))
    assert len(ends[0]) == 2 * CANDIDATES


@given(clusters=st.integers(0, 24), seed=st.integers(0, 99))
@settings(deadline=None)
def test_candidates_of_small_fleets_are_those_of_a_full_search(clusters: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    closeness, free = rng.uniform(0, 100, (3, clusters)), rng.random(clusters)
    usable = rng.random(clusters) < 0.7
    ends = candidates(closeness, shortlist(closeness), free, usable)
    for row in range(3):
        order = sorted(np.flatnonzero(usable).tolist(), key=lambda one: closeness[row, one] + 50 * (1 - free[one]))
        assert sorted(ends[1][ends[0] == row].tolist()) == sorted(order[:CANDIDATES])


def test_a_dark_cluster_is_no_candidate_but_stays_in_the_graph() -> None:
    graph = GraphBuilder().build(
        fleet(cluster("a").nodes(1, cpu="1", memory="1Gi"), cluster("b", state=MemberState.DARK)), {key(0): Facts()}
    )
    assert graph.names["cluster"] == ("a", "b")
    assert graph.edges["may_run_on"].ends.T.tolist() == [[0, 0]]
    assert told(graph, "cluster", "b", "dark") == 1.0


def test_delay_from_callers_by_hand() -> None:
    delay = np.array([[0.0, 10.0, 50.0], [10.0, 0.0, np.nan], [50.0, np.nan, 0.0]])
    regions = np.array([0, 0, 1])
    by_region, by_cluster = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    mean = from_callers(by_region, by_cluster, regions, delay)
    # to a: 3 calls from region 0 (mean of 0 and 10), 1 from region 1 (50), 4 from cluster c (50)
    assert mean[0, 0] == pytest.approx((3 * 5 + 50 + 4 * 50) / 8)
    # to b: nothing is known of the way from c, so those calls say nothing
    assert mean[0, 1] == pytest.approx(5.0)
    assert np.isnan(mean[1]).all()


def test_links_follow_the_order_of_clusters_and_keep_the_nearest() -> None:
    links = Links(("b", "a"), np.array([[0.0, 7.0], [9.0, 0.0]]), np.array([[np.nan, 1.0], [2.0, np.nan]]))
    delay, bandwidth = aligned(links, ("a", "b", "c"))
    assert (delay[0, 1], delay[1, 0]) == (9.0, 7.0)
    assert (bandwidth[0, 1], bandwidth[1, 0]) == (2.0, 1.0)
    assert np.isnan(delay[2, :2]).all()
    assert delay.diagonal().tolist() == [0.0, 0.0, 0.0]
    many = np.abs(np.subtract.outer(np.arange(30.0), np.arange(30.0)))
    ends, raw = near_links(many, many)
    assert sorted(ends[1][ends[0] == 0].tolist()) == list(range(1, NEAREST + 1))
    assert raw[:, 0].max() <= NEAREST


def test_a_workload_states_its_facts() -> None:
    asked = workload(asks={"cpu": "2"}, gpu=GpuNeed(2, 1000), demand_per_s=3.0, callers=(Caller(1.0, region="eu"),))
    assert facts_of(asked, 50.0) == Facts(3.0, 2000, None, 2000, 50.0, (Caller(1.0, region="eu"),))


def test_through_networkx_and_back_nothing_is_lost() -> None:
    rng = np.random.default_rng(5)
    graph = GraphBuilder().build(some_fleet(6, 9, rng), some_facts(9, rng))
    back = from_networkx(as_networkx(graph))
    assert back.names == graph.names
    for kind in NODE_TYPES:
        assert np.array_equal(back.nodes[kind], graph.nodes[kind])
    for name, _, _ in RELATIONS:
        mine, theirs = graph.edges[name], back.edges[name]
        rows = sorted(zip(*mine.ends.tolist(), map(tuple, mine.values.tolist()), strict=True))
        assert sorted(zip(*theirs.ends.tolist(), map(tuple, theirs.values.tolist()), strict=True)) == rows


def test_pyg_gets_every_type_and_every_relation_both_ways() -> None:
    pytest.importorskip("torch", reason="the learn extra is not installed")
    pytest.importorskip("torch_geometric", reason="the learn extra is not installed")
    graph = GraphBuilder().build(_two(), _FACTS)
    data = as_hetero(graph)
    data.validate(raise_on_error=True)
    assert set(data.node_types) == set(NODE_TYPES)
    assert len(data.edge_types) == 2 * len(RELATIONS)
    assert data["cluster", "rev_runs_on", "function"].edge_index.tolist() == [[0, 1], [0, 0]]
    assert set(NODE_TYPES) == {kind for _, _, kind in data.edge_types}  # nothing is left out by layers that drop it
