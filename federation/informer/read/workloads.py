"""What is kept of a Deployment, of a Knative Service and of a quota."""

from __future__ import annotations

from typing import NamedTuple

from federation.informer.read.owner import KNATIVE_SERVICE
from federation.informer.read.shape import Raw, part, text, whole
from federation.labels import WORKLOAD
from federation.quantity import QuantityError, offered, requested
from federation.snapshot import Quota, frozen


class WorkloadFacts(NamedTuple):
    """The workload that an object stands for, and the instances it wants (0 where others say that)."""

    key: str
    wanted: int


def read_deployment(raw: Raw) -> WorkloadFacts:
    """A Deployment, which Knative may have made for a revision of a Service, or we for a workload."""
    meta = part(raw, "metadata")
    said = text(part(meta, "annotations"), WORKLOAD)
    name = text(part(meta, "labels"), KNATIVE_SERVICE) or text(meta, "name")
    key = said if said and said.count("/") == 1 else f"{text(meta, 'namespace') or ''}/{name}"
    return WorkloadFacts(key, whole(part(raw, "spec"), "replicas", absent=1))


def read_service(raw: Raw) -> WorkloadFacts:
    """A Knative Service: that it exists; its revisions' Deployments say how many it wants."""
    meta = part(raw, "metadata")
    return WorkloadFacts(f"{text(meta, 'namespace') or ''}/{text(meta, 'name')}", 0)


class QuotaFacts(NamedTuple):
    """A quota, empty where an amount in it is `unreadable`."""

    quota: Quota
    unreadable: str | None = None


def read_quota(raw: Raw) -> QuotaFacts:
    """A ResourceQuota as its status tells it."""
    meta, status = part(raw, "metadata"), part(raw, "status")
    namespace, name = text(meta, "namespace") or "", text(meta, "name") or ""
    try:
        hard = {name: offered(name, value) for name, value in part(status, "hard").items()}
        used = {name: requested(name, value) for name, value in part(status, "used").items()}
    except QuantityError as error:
        return QuotaFacts(Quota(namespace, name, frozen(), frozen()), str(error))
    return QuotaFacts(Quota(namespace, name, frozen(hard), frozen(used)))


def read_name(_: Raw) -> bool:
    """That it is there; its key is its name."""
    return True
