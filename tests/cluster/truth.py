"""What kubectl says of a cluster and what prewarm's snapshot says of it, in one plain form that can be compared.

Counted here by its own few lines, for the manifests that these tests make; none of prewarm's reading code is used.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from federation.snapshot import Cluster as SeenCluster
from tests.cluster.real.admin import Json, Kubectl

_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


@dataclass(frozen=True, slots=True)
class NodeView:
    """Allocatable and requested: thousandths of a core, bytes, pods."""

    allocatable: tuple[int, int, int]
    requested: tuple[int, int, int]
    schedulable: bool


@dataclass(frozen=True, slots=True)
class View:
    """Nodes by name, instances (wanted, existing, ready) by workload, and the namespaces."""

    nodes: dict[str, NodeView]
    running: dict[str, tuple[int, int, int]]
    namespaces: frozenset[str] | None


def told_by(kubectl: Kubectl, *, namespaces: bool = True) -> View:
    """The cluster as kubectl lists it now."""
    pods = [pod for pod in kubectl.items("pods", "-A") if pod["status"].get("phase") not in ("Succeeded", "Failed")]
    taken: dict[str, list[tuple[int, int, int]]] = {}
    for pod in pods:
        taken.setdefault(pod["spec"].get("nodeName", ""), []).append(_requests(pod))
    nodes = {
        node["metadata"]["name"]: _node(node, taken.get(node["metadata"]["name"], []))
        for node in kubectl.items("nodes")
    }
    spaces = {one["metadata"]["name"] for one in kubectl.items("namespaces")} if namespaces else None
    return View(
        nodes, _instances(kubectl.items("deployments", "-A"), pods), None if spaces is None else frozenset(spaces)
    )


def seen_in(cluster: SeenCluster) -> View:
    """The cluster as the snapshot has it."""
    assert cluster.nodes.names is not None
    nodes: dict[str, NodeView] = {}
    for row, names in enumerate(cluster.nodes.names):
        amounts = (cluster.nodes.allocatable[row, :3].tolist(), cluster.nodes.requested[row, :3].tolist())
        allocatable, requested = ((one[0], one[1], one[2]) for one in amounts)
        view = NodeView(allocatable, requested, bool(cluster.nodes.schedulable[row]))
        nodes |= dict.fromkeys(names, view)
    running = {key: (one.wanted, one.existing, one.ready) for key, one in cluster.running.items()}
    return View(nodes, running, None if cluster.present is None else cluster.present.get("namespace"))


def start_s(pod: Json) -> float | None:
    """Seconds from scheduled to Ready, None where it is not."""
    at = {one["type"]: one for one in pod["status"].get("conditions", ()) if one["status"] == "True"}
    if not {"PodScheduled", "Ready"} <= set(at):
        return None
    scheduled, ready = (datetime.fromisoformat(at[kind]["lastTransitionTime"]) for kind in ("PodScheduled", "Ready"))
    return (ready - scheduled).total_seconds()


def _node(node: Json, taken: list[tuple[int, int, int]]) -> NodeView:
    offered = node["status"]["allocatable"]
    allocatable = (_milli(offered["cpu"]), _bytes(offered["memory"]), int(offered["pods"]))
    cpu, memory, pods = (sum(one[place] for one in taken) for place in range(3))
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions", ()))
    return NodeView(allocatable, (cpu, memory, pods), ready and not node["spec"].get("unschedulable", False))


def _requests(pod: Json) -> tuple[int, int, int]:
    wanted = [container["resources"].get("requests", {}) for container in pod["spec"]["containers"]]
    cpu = sum(_milli(one.get("cpu", "0")) for one in wanted)
    return cpu, sum(_bytes(one.get("memory", "0")) for one in wanted), 1


def _instances(deployments: list[Json], pods: list[Json]) -> dict[str, tuple[int, int, int]]:
    existing: Counter[str] = Counter()
    ready: Counter[str] = Counter()
    for pod in pods:
        meta = pod["metadata"]
        if meta.get("ownerReferences") and not meta.get("deletionTimestamp"):
            key = f"{meta['namespace']}/{meta['labels']['app']}"
            existing[key] += 1
            conditions = pod["status"].get("conditions", ())
            ready[key] += any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    wanted = {
        f"{one['metadata']['namespace']}/{one['metadata']['name']}": one["spec"]["replicas"] for one in deployments
    }
    return {key: (wanted.get(key, existing[key]), existing[key], ready[key]) for key in wanted | existing}


def _milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1_000


def _bytes(quantity: str) -> int:
    unit = quantity[-2:]
    return int(quantity[:-2]) * _UNITS[unit] if unit in _UNITS else int(quantity)
