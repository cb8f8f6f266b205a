"""What else a pod template asks of a scheduler: counted with, said, or refused, and never passed over."""

from __future__ import annotations

import pytest

from federation.manifest import read_manifest
from federation.placement.workload import Workload
from prewarm.domain import InputError
from tests.federation.manifest.made import Json, container, deployment, job, service

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SCHEDULER = "is left to each cluster's scheduler"


def of(body: Json) -> Workload:
    return read_manifest(body, "file").workload


def apart(**term: object) -> Json:
    """A pod whose required anti-affinity has one term, over host names unless said otherwise."""
    required = [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "checkout"}}, **term}]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def test_a_plain_pod_leaves_nothing_open() -> None:
    for body in (deployment(), job(), service()):
        assert (of(body).one_per_node, of(body).left_open) == (None, ())


@pytest.mark.parametrize(
    "term",
    [
        {},
        {"namespaces": ["shop"]},
        {"namespaceSelector": {}},
        {"labelSelector": {}},
        {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["checkout", "cart"]}]}},
    ],
)
def test_instances_that_keep_each_other_apart_are_one_a_node(term: Json) -> None:
    workload = of(deployment(pod=apart(**term)))
    assert workload.one_per_node == f"podAntiAffinity over {HOSTNAME}"
    assert workload.left_open == ()


@pytest.mark.parametrize(
    "term",
    [
        {"topologyKey": ZONE},
        {"namespaces": ["other"]},
        {"namespaceSelector": {"matchLabels": {"team": "shop"}}},
        {"labelSelector": {"matchLabels": {"app": "cart"}}},
        {"labelSelector": None},
    ],
)
def test_other_rules_on_pods_are_said(term: Json) -> None:
    workload = of(deployment(pod=apart(**term)))
    assert workload.one_per_node is None
    assert workload.left_open == (f"podAntiAffinity over {term.get('topologyKey', HOSTNAME)} {SCHEDULER}",)


def test_labels_that_the_controller_adds_count_as_well() -> None:
    body = job({"parallelism": 2})
    body["spec"]["template"]["spec"] |= apart(labelSelector={"matchLabels": {"job-name": "report"}})
    assert of(body).one_per_node == f"podAntiAffinity over {HOSTNAME}"


def test_a_port_of_the_host_is_one_a_node() -> None:
    ports = [{"containerPort": 8080, "hostPort": 80}, {"containerPort": 9090}]
    assert of(deployment(pod={"containers": [container(ports=ports)]})).one_per_node == "hostPort 80"
    shared = {"containers": [container(ports=ports)], "hostNetwork": True}
    assert of(deployment(pod=shared)).one_per_node == "hostPort 8080, 9090"
    assert of(deployment(pod={"containers": [container()], "hostNetwork": True})).one_per_node is None
    sidecar = {"initContainers": [container("side", ports=ports, restartPolicy="Always")]}
    assert of(deployment(pod=sidecar)).one_per_node == "hostPort 80"
    once = {"initContainers": [container("once", ports=ports)]}
    assert of(deployment(pod=once)).one_per_node is None


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}]},
            f"topologySpreadConstraints over {ZONE} are left to each cluster's scheduler",
        ),
        (
            {"schedulerName": "volcano"},
            "schedulerName volcano: whether it runs there, and by which rules, is not known",
        ),
        ({"os": {"name": "windows"}}, "os windows: no node is chosen by it; use nodeSelector kubernetes.io/os"),
        ({"runtimeClassName": "gvisor"}, "runtimeClassName gvisor: whether it exists there is not known"),
        (
            {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]},
            "resourceClaims: whether devices for them are free is not known",
        ),
        (
            {"schedulingGates": [{"name": "example.com/wait"}]},
            "no instance starts before somebody lifts its schedulingGates (example.com/wait)",
        ),
    ],
)
def test_what_placement_does_not_judge_is_said(pod: Json, said: str) -> None:
    assert of(deployment(pod=pod)).left_open == (said,)


@pytest.mark.parametrize(
    "pod",
    [
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}]},
        {"schedulerName": "default-scheduler"},
        {"hostNetwork": True},
    ],
)
def test_what_keeps_no_instance_from_running_is_not(pod: Json) -> None:
    assert of(deployment(pod=pod)).left_open == ()


def test_what_is_paused_or_suspended_is_said() -> None:
    paused = deployment()
    paused["spec"]["paused"] = True
    assert of(paused).left_open == ("paused is true: no instance starts while it is",)
    assert of(job({"suspend": True})).left_open == ("suspend is true: no instance starts while it is",)


def test_a_node_by_name_is_refused() -> None:
    with pytest.raises(InputError, match=rf"spec.nodeName: names a node of one cluster; use nodeSelector {HOSTNAME}"):
        of(deployment(pod={"nodeName": "node-1"}))
