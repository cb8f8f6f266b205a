"""Objects of a cluster as its API server would give them, and what a test looks at in a snapshot."""

from __future__ import annotations

import time
from typing import Any

from federation.snapshot import Nodes

Json = dict[str, Any]
MI = 1 << 20
GI = 1 << 30


def node(name: str, cpu: str = "4", memory: str = "8Gi", pods: str = "110", **fields: Any) -> Json:
    """A Node; fields: labels, taints, ready ("True"), cordoned, more (further allocatable)."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods, **fields.get("more", {})}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **fields.get("labels", {})}},
        "spec": {"unschedulable": fields.get("cordoned", False), "taints": fields.get("taints", [])},
        "status": {
            "capacity": {"cpu": "99", "memory": "99Gi", "pods": "999"},
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": fields.get("ready", "True")}],
        },
    }


def container(cpu: str | None = None, memory: str | None = None, name: str = "c", **fields: Any) -> Json:
    """A container with requests."""
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    return {"name": name, "resources": {"requests": requests}, **fields}


def pod(name: str, bound_to: str | None, cpu: str = "500m", memory: str = "256Mi", **fields: Any) -> Json:
    """A Pod; fields: namespace, labels, annotations, owner (kind, name), phase, ready, deleted, spec, since (seconds
    since the epoch by type of a true condition), restarts (of its container).
    """
    meta: Json = {"name": name, "namespace": fields.get("namespace", "demo"), "labels": fields.get("labels", {})}
    meta["annotations"] = fields.get("annotations", {})
    if "owner" in fields:
        kind, owner = fields["owner"]
        meta["ownerReferences"] = [{"kind": kind, "name": owner, "controller": True}]
    if fields.get("deleted"):
        meta["deletionTimestamp"] = "2026-01-05T12:00:00Z"
    spec = {"containers": [container(cpu, memory)], **fields.get("spec", {})}
    if bound_to is not None:
        spec["nodeName"] = bound_to
    conditions: list[Json] = [{"type": "Ready", "status": "True" if fields.get("ready") else "False"}]
    if "since" in fields:
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": stamp(at)} for kind, at in fields["since"].items()
        ]
    status = {"phase": fields.get("phase", "Running"), "conditions": conditions}
    if "restarts" in fields:
        status["containerStatuses"] = [{"name": "c", "restartCount": fields["restarts"]}]
    return {"metadata": meta, "spec": spec, "status": status}


def stamp(at: float) -> str:
    """A time as Kubernetes writes it, in whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def deployment(name: str, replicas: int | None, namespace: str = "demo", **fields: Any) -> Json:
    """A Deployment; fields: labels, annotations."""
    meta = {"name": name, "namespace": namespace, **fields}
    return {"metadata": meta, "spec": {} if replicas is None else {"replicas": replicas}}


def by_name(nodes: Nodes) -> dict[str, int]:
    """The row of each node."""
    return {name: row for row, names in enumerate(nodes.names or ()) for name in names}


def told(nodes: Nodes) -> dict[str, tuple[object, ...]]:
    """Everything that the columns say, by node, whatever the rows are."""
    return {
        name: (
            nodes.classes[nodes.class_of[row]],
            dict(zip(nodes.resources, nodes.allocatable[row].tolist(), strict=True)),
            dict(zip(nodes.resources, nodes.requested[row].tolist(), strict=True)),
            tuple(None if value != value else value for value in nodes.used[row].tolist()),
            tuple(nodes.gpu_free[row].tolist()),
            bool(nodes.schedulable[row]),
        )
        for name, row in by_name(nodes).items()
    }
