"""Each filter by name: which cluster it drops, and in which words."""

from dataclasses import replace
from typing import Any

import pytest

from federation.labels import TENANT
from federation.placement.answer import Placement
from federation.placement.filters.sieve import FILTERS
from federation.placement.pipeline import place
from federation.placement.terms import Terms
from federation.placement.workload import Affinity, GpuNeed, Requirement, Toleration, Workload
from federation.snapshot import MemberState, Taint, frozen
from prewarm.domain import Action, Override, function_key
from tests.federation.building import NOW, ClusterBuilder, cluster, fleet, workload

ROOMY: dict[str, Any] = {"cpu": "16", "memory": "64Gi"}


def placed(asked: Workload, *clusters: ClusterBuilder, terms: Terms | None = None) -> Placement:
    """The placement over some clusters."""
    return place(fleet(*clusters), asked, terms=terms, now=NOW)


def why(placement: Placement) -> dict[str, tuple[str, str]]:
    """Filter and reason by cluster."""
    return {one.cluster: (one.filter, one.reason) for one in placement.filtered}


GOOD = cluster("good", region="eu").nodes(4, **ROOMY)


@pytest.mark.parametrize(
    ("bad", "asked", "filtered", "reason"),
    [
        pytest.param(
            cluster("bad", state=MemberState.DARK).nodes(**ROOMY).but(why="timeout"),
            workload(),
            "state",
            "unhealthy: does not answer (timeout)",
            id="dark",
        ),
        pytest.param(
            cluster("bad", state=MemberState.REFUSED).nodes(**ROOMY),
            workload(),
            "state",
            "unhealthy: refuses our credentials",
            id="refused",
        ),
        pytest.param(
            cluster("bad", state=MemberState.CORDONED).nodes(**ROOMY),
            workload(),
            "state",
            "cordoned: nothing new goes there",
            id="cordoned",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY).but(unserved=frozenset({"knative"})),
            workload(kind="knative"),
            "kind",
            "its API has no Knative Services",
            id="kind-not-served",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY).seen(121),
            workload(),
            "freshness",
            "nodes or pods last seen 121 s ago, limit 120 s",
            id="old-news",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY).seen(None),
            workload(),
            "freshness",
            "its nodes or pods were never seen",
            id="never-seen",
        ),
        pytest.param(
            cluster("bad", region="us").nodes(**ROOMY),
            workload(affinity=Affinity(regions=("eu", "uk"))),
            "region",
            "region us not allowed (eu, uk)",
            id="region",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY),
            workload(affinity=Affinity(regions=("eu",))),
            "region",
            "region unknown not allowed (eu)",
            id="region-unknown",
        ),
        pytest.param(
            cluster("bad", region="us").nodes(**ROOMY),
            workload(residency=("eu",)),
            "residency",
            "region us not allowed for its data (eu)",
            id="residency",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY),
            workload(affinity=Affinity(clusters=("good", "other"))),
            "clusters",
            "not among the clusters it names (good, other)",
            id="not-named",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY),
            workload(affinity=Affinity(exclude=("bad",))),
            "clusters",
            "the workload excludes it",
            id="excluded-by-the-workload",
        ),
        pytest.param(
            cluster("bad", labels={TENANT: "shop"}).nodes(**ROOMY),
            workload(tenant="media"),
            "tenant",
            "reserved for tenant shop",
            id="another-tenant",
        ),
        pytest.param(
            cluster("bad", labels={"tier": "test"}).nodes(**ROOMY),
            workload(affinity=Affinity(cluster_labels=(Requirement("tier", "NotIn", ("test",)),))),
            "labels",
            "cluster label must be tier NotIn test",
            id="cluster-labels",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY).has(namespace={"other"}),
            workload(needs=frozen({"namespace": frozenset({"shop"})})),
            "needs",
            "no namespace shop",
            id="no-namespace",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY).has(namespace={"shop"}, configmap__shop={"other"}),
            workload(needs=frozen({"configmap:shop": frozenset({"settings"})})),
            "needs",
            "no configmap shop/settings",
            id="no-configmap",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY).has(priorityclass={"low"}),
            workload(priority_class="high"),
            "needs",
            "no priorityclass high",
            id="no-priority-class",
        ),
        pytest.param(
            cluster("bad").nodes(3, schedulable=False, **ROOMY),
            workload(),
            "nodes",
            "none of its 3 nodes takes work",
            id="no-node-takes-work",
        ),
        pytest.param(
            cluster("bad").arch("arm64", 1, **ROOMY),
            workload(architecture=("amd64",)),
            "architecture",
            "no node of architecture amd64, only arm64",
            id="architecture",
        ),
        pytest.param(
            cluster("bad").nodes(taints=(Taint("team", "a", "NoSchedule"),), **ROOMY),
            workload(tolerations=(Toleration("team", "Equal", "b"),)),
            "taints",
            "no node whose taints it tolerates (team=a:NoSchedule)",
            id="taints",
        ),
        pytest.param(
            cluster("bad").nodes(labels={"disk": "hdd"}, **ROOMY),
            workload(affinity=Affinity(node_terms=((Requirement("disk", "NotIn", ("hdd",)),),))),
            "affinity",
            "no node with disk NotIn hdd",
            id="node-affinity",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY),
            workload(asks={"cpu": "20"}),
            "room",
            "no node has room: 20 cpu asked, at most 16 cpu free on one node",
            id="no-single-node",
        ),
        pytest.param(
            cluster("bad").nodes(**ROOMY).quota("shop", {"pods": "3"}, {"pods": "3"}),
            workload(),
            "quota",
            "quota of namespace shop is used up",
            id="quota",
        ),
    ],
)
def test_the_reason_for_a_cluster_that_is_out(bad: ClusterBuilder, asked: Workload, filtered: str, reason: str) -> None:
    placement = placed(asked, bad, GOOD)
    assert why(placement)["bad"] == (filtered, reason)
    assert "bad" not in {share.cluster for share in placement.shares}


def test_an_extended_resource_that_exists_nowhere_is_named() -> None:
    placement = placed(workload(asks={"cpu": "1", "example.com/gpu": "1"}), GOOD)
    assert why(placement) == {"good": ("resources", "no example.com/gpu")}
    assert why(placed(workload(gpu=GpuNeed(1, 1000)), GOOD)) == {"good": ("resources", "no GPUs")}


def test_a_gpu_model_that_is_not_there_is_named() -> None:
    t4 = cluster("t4").nodes(gpus=(1000,), labels={"nvidia.com/gpu.product": "T4"}, **ROOMY)
    placement = placed(workload(gpu=GpuNeed(1, 1000, ("A100", "H100"))), t4)
    assert why(placement) == {"t4": ("gpu_model", "no GPU of model A100, H100")}


def test_resources_that_are_each_free_but_never_together() -> None:
    torn = cluster("torn").nodes(free={"memory": "1Gi"}, **ROOMY).nodes(free={"cpu": "1"}, **ROOMY)
    placement = placed(workload(asks={"cpu": "4", "memory": "8Gi"}), torn)
    assert why(placement)["torn"] == ("room", "no node has all of 4 cpu, 8Gi memory free at once")


def test_a_gang_needs_one_cluster_for_all_of_it() -> None:
    small, large = cluster("small").nodes(1, **ROOMY), cluster("large", price=9.0).nodes(3, **ROOMY)
    placement = placed(workload(replicas=30, asks={"cpu": "1"}, splittable=False), small, large)
    assert why(placement)["small"] == ("gang", "room for 16 of 30 instances that must stay together")
    assert [(one.cluster, one.replicas) for one in placement.shares] == [("large", 30)]
    too_many = placed(workload(replicas=49, asks={"cpu": "1"}, splittable=False), small, large)
    assert too_many.shares == ()
    assert too_many.unplaced == 49


def test_a_person_may_exclude_a_cluster_until_a_time() -> None:
    word = Override(function_key("shop/checkout"), "bad", Action.EXCLUDE, None, "team", "move out", NOW - 60, NOW + 60)
    placement = placed(workload(), cluster("bad").nodes(**ROOMY), GOOD, terms=Terms(overrides=(word,)))
    assert why(placement) == {"bad": ("override", "excluded by team: move out")}
    over = replace(word, expires_at=NOW)
    assert why(placed(workload(), cluster("bad").nodes(**ROOMY), GOOD, terms=Terms(overrides=(over,)))) == {}
    other = placed(workload("shop/stock"), cluster("bad").nodes(**ROOMY), GOOD, terms=Terms(overrides=(word,)))
    assert why(other) == {}


def test_needs_that_will_be_copied_or_are_not_watched_are_no_obstacle() -> None:
    bare = cluster("bare").nodes(**ROOMY).has(namespace={"other"})
    brings = workload(needs=frozen({"namespace": frozenset({"shop"})}), brings_needs=True)
    rich = cluster("rich").nodes(**ROOMY).has(namespace={"shop"})
    assert why(placed(brings, bare, rich)) == {}
    assert why(placed(brings, bare, cluster("unwatched").nodes(**ROOMY))) == {}
    needs = frozen({"secret:shop": frozenset({"key"})})
    assert why(placed(workload(needs=needs), cluster("unwatched").nodes(**ROOMY))) == {}
    partly = cluster("partly").nodes(**ROOMY).has(namespace={"shop"})
    assert why(placed(workload(needs=needs), partly)) == {}


def test_a_tenant_may_use_its_own_cluster_and_shared_ones() -> None:
    own = cluster("own", labels={TENANT: "shop"}).nodes(**ROOMY)
    assert why(placed(workload(tenant="shop"), own, GOOD)) == {}
    assert why(placed(workload(), own, GOOD)) == {"own": ("tenant", "reserved for tenant shop")}


def test_where_several_filters_would_drop_it_the_first_is_the_reason_and_order_is_fixed() -> None:
    hopeless = cluster("bad", region="us", state=MemberState.DARK).nodes(cpu="1", memory="1Gi").seen(999)
    asked = workload(asks={"cpu": "2"}, affinity=Affinity(regions=("eu",)))
    assert why(placed(asked, hopeless))["bad"][0] == "state"
    names = [name for name, _ in FILTERS]
    assert names.index("region") < names.index("freshness") < names.index("resources") < names.index("room")


def test_filtered_clusters_come_in_the_order_of_their_names() -> None:
    closed = [cluster(name, region="us").nodes(**ROOMY) for name in ("d", "a", "c")]
    placement = placed(workload(affinity=Affinity(regions=("eu",))), *closed, GOOD)
    assert [one.cluster for one in placement.filtered] == ["a", "c", "d"]


def test_what_no_cluster_has_cannot_be_brought_and_that_is_said_before_anything_is_tried() -> None:
    needs = frozen({"namespace": frozenset({"shop"}), "secret:shop": frozenset({"key"})})
    bare = cluster("bare").nodes(**ROOMY).has(namespace={"other"}, secret__shop=set())
    full = cluster("full").nodes(**ROOMY).has(namespace={"shop"}, secret__shop=set())
    found = why(placed(workload(needs=needs, brings_needs=True), bare, full))
    assert found == dict.fromkeys(("bare", "full"), ("needs", "no secret shop/key, and no cluster has it to copy"))
    alone = why(placed(workload(needs=needs, brings_needs=True), bare))
    assert alone == {"bare": ("needs", "no namespace shop, and no cluster has it to copy")}
    low = workload(priority_class="high", brings_needs=True)
    assert why(placed(low, bare.has(priorityclass={"low"})))["bare"] == ("needs", "no priorityclass high")
