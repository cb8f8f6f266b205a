"""How long a pod took to start, by its own conditions: from PodScheduled to Ready, both true.

From PodScheduled and not from its creation, since a pod that waits for room is no slow start. Times have a resolution
of 1 s. PodScheduled is stamped by the member's API server and Ready by the node's kubelet, so our clock has no part in
it. The time of Ready moves with every later flap, so a pod of which a container restarted tells nothing of its start.

Which pods: those of ReplicaSets outside of Kubernetes' own namespaces, which are what Deployments and Knative revisions
make and what placement starts, whoever wrote them; what is ours alone would tell nothing in shadow mode. DaemonSets and
static pods start with their node, Jobs are seldom ready at all, a StatefulSet waits for its volumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from federation.informer.read.shape import Raw, part, parts, text, whole
from prewarm.domain import InputError, parse_time

LONGEST_S = 3_600.0
"""What took longer was no start: most likely readiness that was lost and came back."""
_SYSTEM = "kube-"
"""Namespaces of this prefix are reserved for Kubernetes itself."""
_STATUSES = ("containerStatuses", "initContainerStatuses")


class Start(NamedTuple):
    """at: when the pod became ready (seconds since the epoch, the member's clock). took_s: in whole seconds."""

    at: float
    took_s: float


def true_conditions(status: Raw) -> dict[str, Raw]:
    """The conditions of a pod that are true, by type."""
    return {
        kind: one
        for one in parts(status, "conditions")
        if one.get("status") == "True" and (kind := text(one, "type")) is not None
    }


def read_start(meta: Raw, status: Raw, holding: Mapping[str, Raw]) -> Start | None:
    """The start of a pod whose conditions in `holding` are true; None where it tells none, or no honest one."""
    if not _counts(meta) or any(whole(one, "restartCount") for kind in _STATUSES for one in parts(status, kind)):
        return None
    scheduled_at, ready_at = (_since(holding, kind) for kind in ("PodScheduled", "Ready"))
    if scheduled_at is None or ready_at is None or not 0.0 <= ready_at - scheduled_at <= LONGEST_S:
        return None
    return Start(ready_at, ready_at - scheduled_at)


def _counts(meta: Raw) -> bool:
    owned = any(
        one.get("controller") is True and one.get("kind") == "ReplicaSet" for one in parts(meta, "ownerReferences")
    )
    return owned and not (text(meta, "namespace") or "").startswith(_SYSTEM)


def _since(holding: Mapping[str, Raw], kind: str) -> float | None:
    try:
        return parse_time(text(part(holding, kind), "lastTransitionTime") or "", kind)
    except InputError:
        return None
