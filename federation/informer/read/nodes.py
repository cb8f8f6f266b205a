"""What is kept of a Node: what may be asked of it, what it offers, and whether it takes pods at all.

Allocatable counts, not capacity: the difference belongs to the system. A node that is not ready, is cordoned, carries a
taint that says the same, or has a field that cannot be read takes nothing; it is kept, so that totals stay true. The
host name label would make every node a class of its own; a row names its nodes instead.
"""

from __future__ import annotations

from typing import NamedTuple

from federation.informer.read.shape import Raw, labels_of, part, parts, text
from federation.quantity import QuantityError, offered
from federation.snapshot import BASE_RESOURCES, HOSTNAME_LABEL, NodeClass, Taint

NOT_READY_TAINTS = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
    }
)
"""Taints by which the cluster itself says that a node takes no pods for now."""
_VOLUMES = "attachable-volumes-"


class NodeFacts(NamedTuple):
    """Class, amounts by resource, and why it takes nothing (None where it does). `readable`: every field was.

    host: its host name label, None where it has none.
    """

    node_class: NodeClass
    allocatable: tuple[tuple[str, int], ...]
    closed: str | None
    readable: bool = True
    host: str | None = None


def read_node(raw: Raw) -> NodeFacts:
    """The facts of one Node object."""
    taints = _taints(raw)
    labels = dict(labels_of(raw))
    host = labels.pop(HOSTNAME_LABEL, None)
    node_class = NodeClass(tuple(sorted(labels.items())), taints)
    try:
        allocatable = _allocatable(part(part(raw, "status"), "allocatable"))
    except QuantityError as error:
        return NodeFacts(node_class, (), str(error), readable=False, host=host)
    return NodeFacts(node_class, allocatable, _closed(raw, taints), host=host)


def _allocatable(raw: Raw) -> tuple[tuple[str, int], ...]:
    """Zeroes are left out, apart from the base resources, which every node must tell."""
    for name in BASE_RESOURCES:
        if name not in raw:
            raise QuantityError("", f"a node must tell its allocatable {name}")
    amounts = ((name, offered(name, value)) for name, value in sorted(raw.items()) if not name.startswith(_VOLUMES))
    return tuple((name, amount) for name, amount in amounts if amount or name in BASE_RESOURCES)


def _taints(raw: Raw) -> tuple[Taint, ...]:
    found = (
        Taint(key, text(one, "value") or "", text(one, "effect") or "")
        for one in parts(part(raw, "spec"), "taints")
        if (key := text(one, "key"))
    )
    return tuple(sorted(set(found)))


def _closed(raw: Raw, taints: tuple[Taint, ...]) -> str | None:
    ready = next(
        (one.get("status") for one in parts(part(raw, "status"), "conditions") if one.get("type") == "Ready"), None
    )
    if ready != "True":
        return "not ready" if ready == "False" else "readiness unknown"
    if part(raw, "spec").get("unschedulable") is True:
        return "cordoned"
    return next((f"taint {taint.key}" for taint in taints if taint.key in NOT_READY_TAINTS), None)
