"""The kinds that we write, where they live in the API, and in which order they are made and removed.

Only these: a kind that is not in the table cannot be written by mistake, and the rights that the writer asks for
(deploy/rbac) are this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prewarm.domain import InputError

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """One object in one cluster; `namespace` is empty for a kind that has none."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


RESOURCES = {
    ("v1", "Namespace"): "namespaces",
    ("v1", "ServiceAccount"): "serviceaccounts",
    ("v1", "Secret"): "secrets",
    ("v1", "ConfigMap"): "configmaps",
    ("v1", "PersistentVolumeClaim"): "persistentvolumeclaims",
    ("apps/v1", "Deployment"): "deployments",
    ("batch/v1", "Job"): "jobs",
    ("serving.knative.dev/v1", "Service"): "services",
    ("v1", "Service"): "services",
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): "httproutes",
}
"""Plural by (apiVersion, kind), in the order in which they are made: what is referred to comes first."""
_ORDER = {key: place for place, key in enumerate(RESOURCES)}
_UP = frozenset({".", ".."})
CLUSTER_WIDE = frozenset({"Namespace"})
WORKLOAD_KINDS = {
    "deployment": ("apps/v1", "Deployment"),
    "knative": ("serving.knative.dev/v1", "Service"),
    "job": ("batch/v1", "Job"),
}
"""By the word of our own form."""


def ref_of(body: Json) -> Ref:
    """What an object is; InputError where it is of a kind that we do not write."""
    version, kind, meta = str(body.get("apiVersion")), str(body.get("kind")), body["metadata"]
    if (version, kind) not in RESOURCES:
        raise InputError(f"{kind} ({version}): is not a kind that is written")
    return Ref(version, kind, "" if kind in CLUSTER_WIDE else meta.get("namespace", "default"), meta["name"])


def path_of(ref: Ref) -> str:
    """Its path in the API; InputError where its name would lead elsewhere."""
    if ref.name in _UP or ref.namespace in _UP or "/" in ref.name + ref.namespace:
        raise InputError(f"{ref}: is no name of an object")
    return f"{collection_of(ref.api_version, ref.kind, ref.namespace)}/{ref.name}"


def collection_of(version: str, kind: str, namespace: str) -> str:
    """The path of all objects of a kind (in a namespace)."""
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    return root + (f"/namespaces/{namespace}" if namespace else "") + f"/{RESOURCES[version, kind]}"


def making_order(body: Json) -> int:
    """Sorts objects so that what is referred to comes first."""
    return _ORDER[body["apiVersion"], body["kind"]]


def removing_order(ref: Ref) -> int:
    """The reverse."""
    return -_ORDER[ref.api_version, ref.kind]


def is_secret(ref: Ref) -> bool:
    """Whether its values must never be shown, logged or kept."""
    return ref.kind == "Secret"
