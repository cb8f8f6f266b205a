"""Manifests that tests make: nodes of any shape, Deployments, namespaces, pods with a start-up time of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

READY_DELAY = "pod-ready.stage.kwok.x-k8s.io/delay"
"""Annotation of a pod: how long kwok takes until it is Ready (1500ms, 4s)."""
CPU_USAGE, MEMORY_USAGE = "kwok.x-k8s.io/usage-cpu", "kwok.x-k8s.io/usage-memory"
"""Annotations of a pod: what kwok says that it uses (90m, 48Mi)."""


REGION = "topology.kubernetes.io/region"


@dataclass(frozen=True, slots=True)
class NodeShape:
    """`count` nodes that are alike; amounts as Kubernetes writes them; `extra` holds further resources (GPUs)."""

    count: int = 3
    cpu: str = "8"
    memory: str = "32Gi"
    pods: str = "110"
    extra: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    prefix: str = "node"


def nodes(shape: NodeShape, *, region: str | None = None, alive: bool = False) -> list[Json]:
    """The Node objects of a shape, named PREFIX-0 and so on, for kwok to bring to life; `alive` where there is none."""
    resources = {"cpu": shape.cpu, "memory": shape.memory, "pods": shape.pods, **shape.extra}
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}] if alive else []
    status = {"status": {"allocatable": resources, "capacity": resources, "conditions": conditions}}
    return [
        _node(f"{shape.prefix}-{number}", shape, {} if region is None else {REGION: region}) | status
        for number in range(shape.count)
    ]


def _node(name: str, shape: NodeShape, more_labels: Mapping[str, str]) -> Json:
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels | dict(more_labels) | dict(shape.labels),
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "kwok.x-k8s.io/node": "fake",
                "metrics.k8s.io/resource-metrics-path": f"/metrics/nodes/{name}/metrics/resource",
            },
        },
        "spec": {"taints": [dict(taint) for taint in shape.taints]},
    }


def namespace(name: str) -> Json:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def pod_spec(requests: Mapping[str, str] | None = None) -> Json:
    """The spec of a pod with one container that is never run."""
    wanted = dict(requests or {"cpu": "100m", "memory": "64Mi"})
    return {"containers": [{"name": "app", "image": "registry.invalid/app:1", "resources": {"requests": wanted}}]}


def deployment(
    key: str,
    replicas: int,
    *,
    requests: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Json:
    """A Deployment `namespace/name`; `annotations` are its pods' (READY_DELAY, CPU_USAGE), `labels` its own too."""
    where, _, name = key.partition("/")
    own = {"app": name} | dict(labels or {})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": where, "labels": own},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": own, "annotations": dict(annotations or {})},
                "spec": pod_spec(requests),
            },
        },
    }


def bare_pod(key: str, *, node: str | None = None, annotations: Mapping[str, str] | None = None) -> Json:
    """A pod `namespace/name` without an owner, bound to `node` at once where one is given."""
    where, _, name = key.partition("/")
    spec = pod_spec() | ({} if node is None else {"nodeName": node})
    meta = {"name": name, "namespace": where, "labels": {"app": name}, "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
