"""The harness keeps its word about whole clusters: nodes of any shape, pods that start when told, measured usage."""

from __future__ import annotations

import json

import pytest

from tests.cluster.real.admin import Json, StatusError
from tests.cluster.real.cluster import Cluster, wait_for
from tests.cluster.real.fleet import Fleet
from tests.cluster.real.manifests import (
    READY_DELAY,
    NodeShape,
    deployment,
    nodes,
)
from tests.cluster.truth import start_s

pytestmark = pytest.mark.cluster


def ready_pods(cluster: Cluster, where: str) -> list[Json]:
    return [pod for pod in cluster.kubectl.items("pods", "-n", where) if start_s(pod) is not None]


def test_deployments_run_on_every_cluster(fleet: Fleet, namespace: str) -> None:
    for cluster in fleet:
        cluster.kubectl.apply([deployment(f"{namespace}/web", 5)])
    for cluster in fleet:
        wait_for(lambda: len(ready_pods(cluster, namespace)) == 5, what=f"five pods in {cluster.name}")  # noqa: B023
        where = {pod["spec"]["nodeName"] for pod in ready_pods(cluster, namespace)}
        assert where <= {"node-0", "node-1", "node-2"}


def test_a_pod_is_ready_after_the_time_that_its_annotation_says(fleet: Fleet, namespace: str) -> None:
    cluster = fleet["eu"]
    slow = {READY_DELAY: "3s"}
    cluster.kubectl.apply([deployment(f"{namespace}/fast", 1), deployment(f"{namespace}/slow", 2, annotations=slow)])
    wait_for(lambda: len(ready_pods(cluster, namespace)) == 3, what="all three ready")
    starts = {pod["metadata"]["name"].split("-")[0]: start_s(pod) for pod in ready_pods(cluster, namespace)}
    assert starts["fast"] is not None
    assert starts["slow"] is not None
    assert starts["fast"] <= 1.0
    assert 2.0 <= starts["slow"] <= 6.0  # whole seconds in the conditions


def test_nodes_have_the_shape_that_was_asked_for(fleet: Fleet) -> None:
    cluster = fleet["us"]
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    shape = NodeShape(
        2, cpu="64", memory="256Gi", extra={"nvidia.com/gpu": "8"}, labels={"pool": "g"}, taints=(taint,), prefix="gpu"
    )
    cluster.kubectl.apply(nodes(shape, region="us"))
    try:
        wait_for(
            lambda: all(map(is_ready, cluster.kubectl.items("nodes", "-l", "pool=g"))), what="running the new nodes"
        )
        found = cluster.kubectl.items("nodes", "-l", "pool=g,topology.kubernetes.io/region=us")
        assert [node["metadata"]["name"] for node in found] == ["gpu-0", "gpu-1"]
        assert all(node["status"]["allocatable"]["nvidia.com/gpu"] == "8" for node in found)
        assert all(node["status"]["allocatable"]["cpu"] == "64" for node in found)
        assert all(taint in node["spec"]["taints"] for node in found)
    finally:
        cluster.kubectl.run("delete", "node", "gpu-0", "gpu-1")


def is_ready(node: Json) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])


def test_a_pod_that_fits_nowhere_stays_pending_for_the_schedulers_reason(fleet: Fleet, namespace: str) -> None:
    cluster = fleet["ap"]
    cluster.kubectl.apply([deployment(f"{namespace}/huge", 1, requests={"cpu": "500"})])

    def refused() -> bool:
        conditions = [
            one for pod in cluster.kubectl.items("pods", "-n", namespace) for one in pod["status"].get("conditions", ())
        ]
        return any(one.get("reason") == "Unschedulable" and "Insufficient cpu" in one["message"] for one in conditions)

    wait_for(refused, what="refused by the scheduler")
    assert [pod["status"]["phase"] for pod in cluster.kubectl.items("pods", "-n", namespace)] == ["Pending"]


@pytest.mark.slow
def test_pods_outlive_a_killed_api_server_and_new_ones_start_after_it(fleet: Fleet, namespace: str) -> None:
    cluster = fleet["eu"]
    cluster.kubectl.apply([deployment(f"{namespace}/web", 3)])
    wait_for(lambda: len(ready_pods(cluster, namespace)) == 3, what="three pods")
    before = {pod["metadata"]["uid"] for pod in ready_pods(cluster, namespace)}
    cluster.restart_api_server()
    cluster.kubectl.run("scale", "deployment/web", "--replicas=5", "-n", namespace)
    wait_for(lambda: len(ready_pods(cluster, namespace)) == 5, deadline_s=90.0, what="five pods")
    assert before < {pod["metadata"]["uid"] for pod in ready_pods(cluster, namespace)}


def test_the_merged_kubeconfig_reaches_each_cluster_as_its_own_administrator(fleet: Fleet) -> None:
    path = fleet.kubeconfig()
    kubectl = fleet["eu"].kubectl
    config = json.loads(kubectl.run("config", "view", "--kubeconfig", str(path), "-o", "json"))
    assert [one["name"] for one in config["contexts"]] == ["ap", "eu", "us"]
    assert len({cluster.token for cluster in fleet}) == 3
    with pytest.raises(StatusError, match="401"):
        type(fleet["eu"].admin)(fleet["us"].server, fleet["eu"].token, fleet["us"].identity.ca_file).call("GET", "/api")
