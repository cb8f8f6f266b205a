"""Which collections are kept of a member, and in which form they are asked for.

Where only names matter the server is asked for metadata alone, so that no secret's content ever reaches this process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from federation.informer.read.nodes import NodeFacts, read_node
from federation.informer.read.pods import PodFacts, read_pod
from federation.informer.read.shape import Raw
from federation.informer.read.workloads import (
    QuotaFacts,
    WorkloadFacts,
    read_deployment,
    read_name,
    read_quota,
    read_service,
)
from federation.members.api import JSON

Kept = TypeVar("Kept")
_METADATA = "application/json;as={};g=meta.k8s.io;v=v1,application/json"


@dataclass(frozen=True, slots=True)
class Resource(Generic[Kept]):
    """A collection over all namespaces; `read` makes what is kept of an object. names_only: asked as metadata."""

    name: str
    path: str
    read: Callable[[Raw], Kept]
    names_only: bool = False

    @property
    def list_form(self) -> str:
        """The Accept header of a list."""
        return _METADATA.format("PartialObjectMetadataList") if self.names_only else JSON

    @property
    def watch_form(self) -> str:
        """The Accept header of a watch."""
        return _METADATA.format("PartialObjectMetadata") if self.names_only else JSON


NODES: Resource[NodeFacts] = Resource("nodes", "/api/v1/nodes", read_node)
PODS: Resource[PodFacts] = Resource("pods", "/api/v1/pods", read_pod)
QUOTAS: Resource[QuotaFacts] = Resource("resourcequotas", "/api/v1/resourcequotas", read_quota)
DEPLOYMENTS: Resource[WorkloadFacts] = Resource("deployments", "/apis/apps/v1/deployments", read_deployment)
SERVICES: Resource[WorkloadFacts] = Resource("services", "/apis/serving.knative.dev/v1/services", read_service)
NAMES: dict[str, Resource[bool]] = {
    kind: Resource(f"{kind}s", f"/api/v1/{kind}s", read_name, names_only=True)
    for kind in ("namespace", "configmap", "secret", "serviceaccount", "persistentvolumeclaim")
} | {
    "priorityclass": Resource(
        "priorityclasses", "/apis/scheduling.k8s.io/v1/priorityclasses", read_name, names_only=True
    )
}
"""By kind, as `Cluster.present` spells it."""
