"""Our own form: the example of the API, and every way to get it wrong."""

from __future__ import annotations

from typing import Any

import pytest

from federation.manifest import read_form
from federation.placement.workload import (
    Affinity,
    Callee,
    Caller,
    GpuNeed,
    Requirement,
    Spread,
    Toleration,
    Workload,
)
from prewarm.domain import InputError

EXAMPLE: dict[str, Any] = {
    "key": "shop/checkout",
    "kind": "knative",
    "replicas": 6,
    "requests": {"cpu": "250m", "memory": "256Mi"},
    "affinity": {"regions": ["eu"]},
    "tolerations": [],
    "tenant": "shop",
    "residency": ["eu"],
    "spread": {"max_per_cluster": 4, "min_clusters": 2},
    "priority": 100,
    "callers": [{"region": "eu", "calls_per_s": 14.0}],
    "calls": [{"key": "shop/stock", "calls_per_invocation": 1.2}],
}


def test_the_example_of_the_api_is_read_whole() -> None:
    assert read_form(EXAMPLE, "workload") == Workload(
        key="shop/checkout",
        kind="knative",
        replicas=6,
        requests={"cpu": 250, "memory": 256 << 20},
        affinity=Affinity(regions=("eu",)),
        tenant="shop",
        residency=("eu",),
        spread=Spread(4, 2),
        priority=100,
        callers=(Caller(14.0, region="eu"),),
        calls=(Callee("shop/stock", 1.2),),
        needs={"namespace": frozenset({"shop"})},
    )


def test_the_least_is_a_key_and_a_number() -> None:
    workload = read_form({"key": "shop/checkout", "replicas": 2}, "workload")
    assert (workload.kind, workload.replicas, dict(workload.requests)) == ("deployment", 2, {})
    assert workload.splittable


def test_everything_else_may_be_said_as_well() -> None:
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    more = {
        "affinity": {
            "clusters": ["eu-1"],
            "exclude": ["eu-2"],
            "cluster_labels": [{"key": "tier", "operator": "Exists"}],
            "node_terms": [[zone, {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]],
        },
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "gpu": {"count": 2, "models": ["H100"]},
        "limits": {"cpu": 1},
        "needs": {"secret:shop": ["token"]},
        "splittable": False,
        "ready_minimum": 1,
        "demand_per_s": 3.5,
        "priority_class": "urgent",
    }
    workload = read_form(EXAMPLE | more, "workload")
    assert workload.affinity == Affinity(
        clusters=("eu-1",),
        exclude=("eu-2",),
        cluster_labels=(Requirement("tier", "Exists"),),
        node_terms=((Requirement("zone", "In", ("a",)), Requirement("kubernetes.io/arch", "In", ("arm64",))),),
    )
    assert workload.architecture == ("arm64",)
    assert workload.tolerations == (Toleration("gpu", "Exists", "", "NoSchedule"),)
    assert workload.gpu == GpuNeed(2, 1000, ("H100",))
    assert workload.limits == {"cpu": 1000}
    assert workload.needs["secret:shop"] == {"token"}
    assert (workload.splittable, workload.ready_minimum, workload.demand_per_s) == (False, 1, 3.5)
    assert workload.priority_class == "urgent"


def test_gpus_in_the_requests_and_shares_are_understood() -> None:
    assert read_form(EXAMPLE | {"requests": {"nvidia.com/gpu": 2}}, "w").gpu == GpuNeed(2, 1000)
    assert read_form(EXAMPLE | {"gpu": {"milli": 300}}, "w").gpu == GpuNeed(0, 300)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"replica": 3}, "workload.replica: unknown field"),
        ({"spread": {"max": 4}}, "workload.spread.max: unknown field"),
        ({"callers": [{"region": "eu"}]}, "workload.callers[0].calls_per_s: is required"),
        ({"replicas": "6"}, "workload.replicas: must be a valid integer, is '6'"),
        ({"replicas": -1}, "workload.replicas: must be greater than or equal to 0, is -1"),
        ({"kind": "pod"}, "workload.kind: must be 'knative', 'deployment' or 'job', is 'pod'"),
        ({"requests": {"cpu": "fast"}}, "workload.requests.cpu: quantity 'fast'"),
        ({"requests": {"cpu": "-1"}}, "workload.requests.cpu: quantity '-1'"),
        ({"key": "checkout"}, "workload.key: must be namespace/name"),
        ({"calls": [{"key": "x", "calls_per_invocation": 1.0}]}, "workload.calls[0].key: must be namespace/name"),
        ({"tolerations": [{"value": "x"}]}, "workload.tolerations[0].operator: must be Exists"),
        ({"spread": {"min_clusters": 0}}, "workload.spread.min_clusters: must be greater than or equal to 1"),
        ({"callers": [{"calls_per_s": float("nan")}]}, "workload.callers[0].calls_per_s: must be a finite number"),
        (
            {"affinity": {"cluster_labels": [{"key": "a", "operator": "In"}]}},
            "workload.affinity.cluster_labels[0].values: must not be empty",
        ),
    ],
)
def test_each_fault_is_one_line_that_names_the_field(change: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_form(EXAMPLE | change, "workload")
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("raw", [None, [], "x", 3])
def test_what_is_no_object_is_refused(raw: object) -> None:
    with pytest.raises(InputError, match="workload"):
        read_form(raw, "workload")
