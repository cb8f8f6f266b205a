"""From the fleet's values to the JSON that the API writes; the page reads the same shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from federation.placement.answer import Placement
from federation.placement.reserve.book import Book
from federation.snapshot import MEMORY, Cluster, InstanceUse, Snapshot
from prewarm.domain import rfc3339

Json = dict[str, object]
_MILLI = 1_000
_CAUTIONS = frozenset({"clusters", "architecture", "one_per_node", "left_open"})
"""Reasons that whoever asked should see at once, whatever the answer."""


def cluster_json(cluster: Cluster, book: Book, now: float) -> Json:
    """One member as it was last seen."""
    ages = cluster.ages.at(now)
    return {
        "name": cluster.name,
        "context": cluster.context,
        "state": cluster.state,
        "since": rfc3339(cluster.since),
        "last_answer_s": _seconds(ages["answer"]),
        **_amounts(cluster),
        "used": _used(cluster),
        "in_flight": amounts_json(in_flight(book, cluster.name)),
        "price": cluster.price,
        "region": cluster.region,
        "start_s": cluster.start_s,
        "ages_s": {name: _seconds(age) for name, age in ages.items()},
        "why": cluster.why,
        "notes": list(cluster.notes),
    }


def _amounts(cluster: Cluster) -> Json:
    """Nodes and what is requested of them, and instances; null where they were never seen, which is not zero."""
    nodes, running = cluster.nodes, cluster.running.values()
    nodes_seen, pods_seen = cluster.ages.nodes is not None, cluster.ages.pods is not None
    return {
        "nodes": int((nodes.count * nodes.schedulable).sum()) if nodes_seen else None,
        "nodes_in_all": int(nodes.count.sum()) if nodes_seen else None,
        "allocatable": amounts_json(nodes.total(nodes.allocatable)) if nodes_seen else None,
        "requested": amounts_json(nodes.total(nodes.requested)) if nodes_seen and pods_seen else None,
        "instances": sum(one.existing for one in running) if pods_seen else None,
        "ready": sum(one.ready for one in running) if pods_seen else None,
    }


def cluster_detail_json(cluster: Cluster, snapshot: Snapshot, book: Book, *, limit: int) -> Json:
    """One member with what runs there, the most instances first, and its links."""
    running = sorted(cluster.running.items(), key=lambda item: (-item[1].existing, item[0]))
    return {
        **cluster_json(cluster, book, snapshot.at),
        "running": [
            {
                "key": key,
                "wanted": one.wanted,
                "existing": one.existing,
                "ready": one.ready,
                "pending": one.pending,
                "used": _use(cluster.use.get(key)),
            }
            for key, one in running[:limit]
        ],
        "links_ms": links_json(snapshot, cluster.name),
    }


def links_json(snapshot: Snapshot, name: str) -> dict[str, float | None]:
    """One-way delay from a cluster to every other one, null where nobody said."""
    links = snapshot.links
    if name not in links.names:
        return {}
    row = links.delay_ms[links.names.index(name)].tolist()
    return {
        other: delay if math.isfinite(delay) else None
        for other, delay in zip(links.names, row, strict=True)
        if other != name
    }


def placement_json(placement: Placement, became: str, *, dry_run: bool, why: str | None, notes: list[str]) -> Json:
    """The answer to a question."""
    until = placement.reserved_until
    return {
        "decision": placement.id,
        "placements": [
            {"cluster": share.cluster, "replicas": share.replicas, "weight": round(share.weight, 6)}
            for share in placement.shares
            if share.replicas
        ],
        "unplaced": placement.unplaced,
        "reserved_until": None if until is None else rfc3339(until),
        "dry_run": dry_run,
        "rule_decided": placement.policy.rule_decided,
        "why": why or placement.policy.why,
        "became": became,
        "filtered": [{"cluster": f.cluster, "filter": f.filter, "reason": f.reason} for f in placement.filtered],
        "notes": [*placement.vetoes, *(one.text for one in placement.reasons if one.factor in _CAUTIONS), *notes],
    }


def amounts_json(amounts: Mapping[str, int]) -> dict[str, float]:
    """Cores, bytes and pieces; what is zero everywhere is left out, except for the first three."""
    return {
        name: value / _MILLI if name == "cpu" else value
        for name, value in amounts.items()
        if value or name in ("cpu", "memory", "pods")
    }


def in_flight(book: Book, cluster: str) -> dict[str, int]:
    """Room that was promised in a cluster and is not yet seen taken, by resource."""
    found: dict[str, int] = {"cpu": 0, "memory": 0, "pods": 0}
    for claim in book.of(cluster):
        requests, _ = claim.shape
        for name, value in requests:
            found[name] = found.get(name, 0) + value * claim.instances
        found["pods"] += claim.instances
    return found


def _used(cluster: Cluster) -> dict[str, float | None]:
    """Measured use of the nodes that tell it; null where none does."""
    used, count = cluster.nodes.used, cluster.nodes.count
    known = np.isfinite(used).all(axis=1)
    if not known.any():
        return {"cpu": None, "memory": None}
    total = (used[known] * count[known, None]).sum(axis=0).tolist()
    return {"cpu": total[0] / _MILLI, "memory": total[MEMORY]}


def _use(use: InstanceUse | None) -> dict[str, float] | None:
    """What an instance uses, None where nothing fresh is known."""
    return None if use is None else {"cpu": round(use.cpu / _MILLI, 3), "memory": round(use.memory)}


def _seconds(age: float | None) -> float | None:
    return None if age is None else round(age, 1)
