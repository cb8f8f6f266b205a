"""What a pod takes of its node, as the scheduler counts it, and whose instance it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.informer.read.pods import Stage, pod_requests, read_pod
from federation.labels import WORKLOAD
from tests.federation.informer.made import MI, Json, container, pod
from tests.federation.informer.test_read_nodes import JSON


def amounts(spec: Json, status: Json | None = None) -> dict[str, int]:
    return dict(pod_requests(spec, status or {}))


def test_containers_add_up_and_every_pod_takes_a_slot() -> None:
    spec = {"containers": [container("100m", "64Mi"), container("0.25", "64Mi"), container()]}
    assert amounts(spec) == {"cpu": 350, "memory": 128 * MI, "pods": 1}


def test_init_containers_run_one_after_another_so_only_the_largest_counts() -> None:
    spec = {
        "containers": [container("300m", "100Mi")],
        "initContainers": [container("1", "10Mi"), container("700m", "400Mi")],
    }
    assert amounts(spec) == {"cpu": 1000, "memory": 400 * MI, "pods": 1}


def test_sidecars_add_to_the_containers() -> None:
    spec = {
        "containers": [container("300m")],
        "initContainers": [container("200m", restartPolicy="Always"), container("100m", restartPolicy="Always")],
    }
    assert amounts(spec)["cpu"] == 600


def test_an_init_container_runs_beside_the_sidecars_that_started_before_it() -> None:
    before = {
        "containers": [container("100m")],
        "initContainers": [container("200m", restartPolicy="Always"), container("500m")],
    }
    after = {
        "containers": [container("100m")],
        "initContainers": [container("500m"), container("200m", restartPolicy="Always")],
    }
    assert amounts(before)["cpu"] == 700
    assert amounts(after)["cpu"] == 500


def test_overhead_comes_on_top_of_whichever_is_more() -> None:
    spec = {
        "containers": [container("100m")],
        "initContainers": [container("500m")],
        "overhead": {"cpu": "50m", "memory": "20Mi"},
    }
    assert amounts(spec) == {"cpu": 550, "memory": 20 * MI, "pods": 1}


def test_requests_of_the_pod_as_a_whole_replace_the_sum() -> None:
    spec = {
        "containers": [container("100m", "64Mi"), container("100m", "64Mi")],
        "resources": {"requests": {"cpu": "1"}},
    }
    assert amounts(spec) == {"cpu": 1000, "memory": 128 * MI, "pods": 1}


def test_a_resize_under_way_counts_with_the_larger_figure() -> None:
    spec = {"containers": [container("200m", "64Mi")]}
    shrinking = {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "500m", "memory": "64Mi"}}]}
    in_force = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "300m"}}}]}
    assert amounts(spec, shrinking)["cpu"] == 500
    assert amounts(spec, in_force)["cpu"] == 300
    assert amounts(spec, {"containerStatuses": [{"name": "other", "allocatedResources": {"cpu": "9"}}]})["cpu"] == 200


def test_extended_resources_are_counted_like_any_other() -> None:
    spec = {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "2", "ephemeral-storage": "1Gi"}}}]}
    assert amounts(spec) == {"nvidia.com/gpu": 2, "ephemeral-storage": 1 << 30, "pods": 1}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_takes_nothing(phase: str) -> None:
    facts = read_pod(pod("p", "n1", phase=phase))
    assert (facts.stage, facts.amounts, facts.ready) == (Stage.ENDED, (), False)


def test_a_pod_that_is_being_deleted_still_takes_its_room_and_is_not_ready() -> None:
    facts = read_pod(pod("p", "n1", ready=True, deleted=True))
    assert (facts.stage, facts.terminating, facts.ready) == (Stage.BOUND, True, False)
    assert dict(facts.amounts) == {"cpu": 500, "memory": 256 * MI, "pods": 1}


def test_a_pod_without_a_node_is_pending() -> None:
    facts = read_pod(pod("p", None, phase="Pending"))
    assert (facts.stage, facts.node) == (Stage.PENDING, None)


@pytest.mark.parametrize("cpu", ["x", "-1", "1.2.3"])
def test_requests_that_cannot_be_read_are_said_and_the_slot_counts(cpu: str) -> None:
    facts = read_pod(pod("p", "n1", cpu=cpu))
    assert not facts.readable
    assert dict(facts.amounts) == {"pods": 1}


@pytest.mark.parametrize(
    ("fields", "workload"),
    [
        ({"owner": ("ReplicaSet", "shop-5d9f"), "labels": {"pod-template-hash": "5d9f"}}, "demo/shop"),
        ({"owner": ("ReplicaSet", "by-hand")}, "demo/by-hand"),
        ({"owner": ("StatefulSet", "db")}, "demo/db"),
        ({"owner": ("Job", "nightly")}, "demo/nightly"),
        ({}, None),
        (
            {
                "owner": ("ReplicaSet", "shop-00001-deployment-5d9f"),
                "labels": {"pod-template-hash": "5d9f", "serving.knative.dev/service": "shop"},
            },
            "demo/shop",
        ),
        ({"annotations": {WORKLOAD: "shop/checkout"}, "owner": ("ReplicaSet", "x-1")}, "shop/checkout"),
        ({"annotations": {WORKLOAD: "no key"}, "owner": ("StatefulSet", "db")}, "demo/db"),
    ],
)
def test_whose_instance_a_pod_is(fields: Json, workload: str | None) -> None:
    assert read_pod(pod("p", "n1", **fields)).workload == workload


def test_an_owner_that_does_not_control_is_no_owner() -> None:
    raw = pod("p", "n1", owner=("StatefulSet", "db"))
    raw["metadata"]["ownerReferences"][0]["controller"] = False
    assert read_pod(raw).workload is None


@given(meta=JSON, spec=JSON, status=JSON)
def test_no_object_however_wrong_is_an_exception(meta: object, spec: object, status: object) -> None:
    assert read_pod({"metadata": meta, "spec": spec, "status": status}).stage in Stage


MILLI = st.integers(0, 4_000)


@given(
    own=st.lists(MILLI, min_size=1, max_size=4), init=st.lists(st.tuples(MILLI, st.booleans()), max_size=4), more=MILLI
)
def test_a_pod_never_takes_less_than_at_any_moment_of_its_life(
    own: list[int], init: list[tuple[int, bool]], more: int
) -> None:
    spec = {
        "containers": [container(f"{cpu}m") for cpu in own],
        "initContainers": [
            container(f"{cpu}m", **({"restartPolicy": "Always"} if sidecar else {})) for cpu, sidecar in init
        ],
        "overhead": {"cpu": f"{more}m"},
    }
    moments, beside = [], 0
    for cpu, sidecar in init:
        moments.append(beside + cpu)
        beside += cpu if sidecar else 0
    moments.append(beside + sum(own))
    assert amounts(spec).get("cpu", 0) == max(moments) + more
