"""Each factor against its formula, on fleets small enough to work it out by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.factors.table import factors_of
from federation.placement.filters.examine import examine
from federation.placement.pipeline import ground, place
from federation.placement.scorer import FACTORS
from federation.placement.terms import Terms
from federation.placement.workload import Affinity, Callee, Caller, GpuNeed, Requirement, Toleration, Workload
from federation.snapshot import Cluster, MemberState, Snapshot, Taint, frozen
from prewarm.settings import Call
from tests.federation.building import NOW, ClusterBuilder, Wiring, cluster, fleet, workload

NODE: dict[str, Any] = {"cpu": "10", "memory": "100Gi"}


def factor(name: str, snapshot: Snapshot, asked: Workload, terms: Terms | None = None) -> list[float]:
    """One factor by cluster."""
    on = ground(snapshot)
    case = examine(on.fleet, asked, book=on.book, tally=on.tally, terms=terms or Terms(), now=NOW)
    values: list[float] = factors_of(case)[:, FACTORS.index(name)].round(6).tolist()
    return values


def test_fit_is_what_is_left_of_the_scarcest_resource() -> None:
    two = fleet(cluster("a").nodes(1, **NODE), cluster("b").nodes(4, **NODE))
    assert factor("fit", two, workload(replicas=2, asks={"cpu": "2"})) == [0.6, 0.9]
    assert factor("fit", two, workload(replicas=2, asks={"cpu": "1", "memory": "40Gi"})) == [0.2, 0.8]
    assert factor("fit", two, workload(asks={"cpu": "11"})) == [0.0, 0.0]


def test_fit_counts_gpus_and_what_is_there_needs_none() -> None:
    gpus = fleet(cluster("a").nodes(1, gpus=(1000, 500), **NODE))
    assert factor("fit", gpus, workload(asks={"cpu": "1"}, gpu=GpuNeed(1, 1000))) == [0.333333]
    there = fleet(cluster("a").nodes(1, free={"cpu": "0"}, **NODE).runs("shop/checkout", 3))
    assert factor("fit", there, workload(replicas=3, asks={"cpu": "1"})) == [1.0]


def test_fit_falls_where_no_node_meets_the_preferences() -> None:
    ssd = ((80, (Requirement("disk", "In", ("ssd",)),)), (20, (Requirement("zone", "In", ("z",)),)))
    three = fleet(
        cluster("a").nodes(labels={"disk": "ssd", "zone": "z"}, **NODE),
        cluster("b").nodes(labels={"disk": "ssd"}, **NODE).nodes(labels={"zone": "z"}, **NODE),
        cluster("c").nodes(**NODE),
    )
    values = factor("fit", three, workload(asks={"cpu": "0"}, affinity=Affinity(preferred=ssd)))
    assert values == pytest.approx([1.0, 0.9, 0.5], abs=0.01)


def test_fit_falls_where_every_node_is_disliked() -> None:
    spot = Taint("spot", "yes", "PreferNoSchedule")
    two = fleet(cluster("a").nodes(taints=(spot,), **NODE), cluster("b").nodes(**NODE))
    assert factor("fit", two, workload(asks={"cpu": "1"})) == [0.45, 0.9]
    tolerant = workload(asks={"cpu": "1"}, tolerations=(Toleration("spot", "Exists"),))
    assert factor("fit", two, tolerant) == [0.9, 0.9]


def test_headroom_is_what_is_left_after_the_placement_and_the_forecast_growth() -> None:
    half = fleet(cluster("a").nodes(free={"cpu": "5", "memory": "100Gi"}, **NODE), cluster("b").nodes(**NODE))
    asked = workload(replicas=2, asks={"cpu": "1"})
    assert factor("headroom", half, asked) == [0.3, 0.8]
    growth = Terms(growth=frozen({"b": {"cpu": 6000}, "elsewhere": {"cpu": 1}}))
    assert factor("headroom", half, asked, growth) == [0.3, 0.2]
    flood = Terms(growth=frozen({"b": {"cpu": 60_000}}))
    assert factor("headroom", half, asked, flood) == [0.3, 0.0]


WIRES = Wiring(delay_ms={("a", "b"): 50.0, ("a", "c"): 200.0})


def test_network_is_near_to_callers_by_their_calls() -> None:
    three = fleet(*(cluster(name, region=f"r-{name}").nodes(**NODE) for name in "abc"), wiring=WIRES)
    from_a = workload(callers=(Caller(10.0, cluster="a"),))
    assert factor("network", three, from_a) == [0.980392, 0.5, 0.2]
    by_region = workload(callers=(Caller(10.0, region="r-a"),))
    assert factor("network", three, by_region) == [0.980392, 0.5, 0.2]
    mixed = workload(callers=(Caller(30.0, cluster="a"), Caller(10.0, cluster="b")))
    assert factor("network", three, mixed)[0] == pytest.approx((30 * 0.980392 + 10 * 0.5) / 40, abs=1e-6)


def test_an_unknown_link_is_neutral_not_near() -> None:
    three = fleet(*(cluster(name).nodes(**NODE) for name in "abc"), wiring=WIRES)
    assert factor("network", three, workload(callers=(Caller(1.0, cluster="b"),)))[2] == 0.5
    assert factor("network", three, workload(callers=(Caller(1.0, region="nowhere"),))) == [0.5, 0.5, 0.5]
    assert factor("network", three, workload()) == [0.5, 0.5, 0.5]


def test_network_counts_what_it_calls_and_how_much_it_sends() -> None:
    wires = Wiring(delay_ms={("a", "b"): 10.0}, mbps={("a", "b"): 8.192})
    two = fleet(cluster("a").nodes(**NODE), cluster("b").nodes(**NODE).runs("shop/stock", 2), wiring=wires)
    asked = workload(calls=(Callee("shop/stock", 2.0, payload_kib=40.0),), demand_per_s=5.0)
    assert factor("network", two, asked) == [0.5, 0.980392]
    gone = workload(calls=(Callee("shop/nowhere", 2.0),), demand_per_s=5.0)
    assert factor("network", two, gone) == [0.5, 0.5]


def test_the_service_graph_speaks_where_the_workload_does_not() -> None:
    wires = Wiring(
        delay_ms={("a", "b"): 50.0}, calls=(Call("shop/web", "shop/checkout"), Call("shop/checkout", "shop/db"))
    )
    two = fleet(
        cluster("a").nodes(**NODE).runs("shop/web", 4), cluster("b").nodes(**NODE).runs("shop/db", 1), wiring=wires
    )
    near_web, near_db = (0.980392 + 0.5) / 2, (0.5 + 0.980392) / 2
    assert factor("network", two, workload()) == pytest.approx([near_web, near_db], abs=1e-6)


def test_links_between_regions_hold_for_their_clusters() -> None:
    wires = Wiring(delay_ms={("eu", "us"): 50.0})
    regions = {"a": "eu", "b": "us", "c": "us"}
    three = fleet(*(cluster(name, region=region).nodes(**NODE) for name, region in regions.items()), wiring=wires)
    assert factor("network", three, workload(callers=(Caller(1.0, region="eu"),))) == [0.980392, 0.5, 0.5]


def test_warm_and_steadiness_are_shares_of_the_wanted_instances() -> None:
    two = fleet(cluster("a").nodes(**NODE).runs("shop/checkout", 3, ready=1), cluster("b").nodes(**NODE))
    asked = workload(replicas=4)
    assert factor("warm", two, asked) == [0.25, 0.0]
    assert factor("steadiness", two, asked) == [0.75, 0.0]
    assert factor("steadiness", two, workload("shop/new")) == [1.0, 1.0]
    assert factor("steadiness", two, workload(replicas=1)) == [1.0, 0.0]


def test_price_is_the_same_whoever_else_is_there() -> None:
    alone = fleet(cluster("a", price=1.0).nodes(**NODE))
    both = fleet(cluster("a", price=1.0).nodes(**NODE), cluster("b", price=0.0).nodes(**NODE))
    assert factor("price", alone, workload()) == [0.5]
    assert factor("price", both, workload()) == [0.5, 1.0]


def test_risk_rises_with_age_slowness_and_concentration() -> None:
    fresh = cluster("a").nodes(**NODE)
    assert factor("risk", fleet(fresh), workload()) == [1.0]
    assert factor("risk", fleet(fresh.seen(60)), workload()) == [1.0]
    assert factor("risk", fleet(fresh.seen(90)), workload()) == [round(1 - 0.5 / 3, 6)]
    assert factor("risk", fleet(fresh.seen(None)), workload()) == [round(1 - 1 / 3, 6)]
    assert factor("risk", fleet(fresh.but(state=MemberState.SLOW)), workload()) == [round(1 - 1 / 3, 6)]
    crowded = fleet(fresh.runs("shop/x", 3), cluster("b").nodes(**NODE).runs("shop/x", 1))
    assert factor("risk", crowded, workload()) == [0.75, round(1 - 0.25 / 3, 6)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 10), st.floats(0, 1e6), st.integers(0, 5)), min_size=1, max_size=4
    ),
    st.integers(0, 30),
    st.integers(0, 12_000),
)
def test_every_factor_is_finite_and_within_0_and_1(
    rows: list[tuple[int, int, float, int]], replicas: int, cpu: int
) -> None:
    built = []
    for at, (nodes, free, price, there) in enumerate(rows):
        one = cluster(f"c{at}", price=price)
        one = one.nodes(nodes, free={"cpu": str(free)}, **NODE) if nodes else one
        built.append(one.runs("shop/checkout", there) if there else one)
    on = ground(fleet(*built))
    asked = workload(replicas=replicas, asks={"cpu": f"{cpu}m"}, callers=(Caller(1.0, cluster="c0"),))
    values = factors_of(examine(on.fleet, asked, book=on.book, tally=on.tally, terms=Terms(), now=NOW))
    assert values.shape == (len(rows), len(FACTORS))
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    assert (values <= 1).all()


def _using(one: ClusterBuilder, cores: float, gib: float) -> Cluster:
    """The cluster with nodes of which each is measured to use so much."""
    built = one.build()
    used = np.full((len(built.nodes), 2), [1000.0 * cores, gib * 2**30])
    return replace(built, nodes=replace(built.nodes, used=used), ages=replace(built.ages, metrics=NOW - 14))


def test_headroom_leaves_out_what_is_used_beyond_requests_where_that_is_measured() -> None:
    """Of ten cores three are requested. Use below that changes nothing; use of six leaves four, of twelve none."""
    asked = workload(asks={"cpu": "1", "memory": "1Gi"})
    one = cluster("a").nodes(cpu="10", memory="100Gi", free={"cpu": "7"})
    plain = fleet(one, cluster("b").nodes(cpu="10", memory="100Gi"))

    def with_use(cores: float, gib: float) -> Snapshot:
        return replace(plain, clusters=(_using(one, cores, gib), plain.clusters[1]))

    assert factor("headroom", plain, asked) == pytest.approx([0.6, 0.9])
    assert factor("headroom", with_use(2.0, 0.0), asked) == factor("headroom", plain, asked)
    assert factor("headroom", with_use(6.0, 0.0), asked) == pytest.approx([0.3, 0.9])
    assert factor("headroom", with_use(12.0, 0.0), asked) == pytest.approx([0.0, 0.9])
    assert factor("headroom", with_use(2.0, 80.0), asked) == pytest.approx([0.19, 0.9])
    assert factor("fit", with_use(12.0, 0.0), asked) == factor("fit", plain, asked)  # room is what requests leave


def test_the_answer_says_what_is_used_beyond_requests_and_how_old_that_is() -> None:
    asked = workload(asks={"cpu": "1", "memory": "1Gi"})
    one = cluster("a").nodes(cpu="10", memory="100Gi", free={"cpu": "7"})
    plain = fleet(one)
    told = place(replace(plain, clusters=(_using(one, 6.5, 0.0),)), asked, now=NOW).reasons
    assert [each.text for each in told if each.factor == "headroom"] == [
        "a uses 3.5 cores and 0.0 GiB beyond requests, measured 14 s ago; its headroom is without them"
    ]
    assert not [each for each in place(plain, asked, now=NOW).reasons if each.factor == "headroom"]
