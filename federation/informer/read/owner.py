"""Whose instance a pod is: the workload key `namespace/name` by which forecasts and placements speak of it.

An annotation of ours wins (a key is no legal label value, since it has a slash), then Knative's label, then the
Deployment behind a ReplicaSet, whose name is the ReplicaSet's without the hash that the pod also carries, then any
other controller by its own name.
"""

from __future__ import annotations

from federation.informer.read.shape import Raw, part, parts, text
from federation.labels import WORKLOAD

KNATIVE_SERVICE = "serving.knative.dev/service"
_HASH = "pod-template-hash"


def workload_of(meta: Raw) -> str | None:
    """The key of the workload that an object with this metadata belongs to, None where it belongs to none."""
    said = text(part(meta, "annotations"), WORKLOAD)
    if said and said.count("/") == 1:
        return said
    namespace, labels = text(meta, "namespace") or "", part(meta, "labels")
    name = text(labels, KNATIVE_SERVICE) or _controller(meta, text(labels, _HASH))
    return f"{namespace}/{name}" if name else None


def _controller(meta: Raw, template_hash: str | None) -> str | None:
    for owner in parts(meta, "ownerReferences"):
        if owner.get("controller") is True:
            name = text(owner, "name")
            if name and template_hash and owner.get("kind") == "ReplicaSet":
                return name.removesuffix(f"-{template_hash}")
            return name
    return None
