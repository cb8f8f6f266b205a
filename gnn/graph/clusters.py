"""One cluster in raw columns: its own row, its node pools, and what runs there. All that a change of it costs.

Nodes of one class are one pool; a cluster with more classes than `POOLS` keeps its largest ones, and the rest together
are its last, so that a fleet of odd clusters has no more nodes in the graph than one of plain ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from federation.snapshot import ARCH_LABEL, CPU, GPU_WHOLE, MEMORY, PODS, Cluster, MemberState, NodeClass, Nodes
from gnn.graph.features import TABLE
from prewarm.domain import BoolArray, FloatArray, IntArray

POOLS = 8
AGES = ("answer_age", "nodes_age", "metrics_age")
_STATES = (MemberState.SLOW, MemberState.DARK, MemberState.REFUSED, MemberState.CORDONED)
_UNITS = np.array([1e-3, 2.0**-30, 1.0])
_AT = {feature.name: i for i, feature in enumerate(TABLE["cluster"])}
_AGES_AT = [_AT[name] for name in AGES]


@dataclass(frozen=True, slots=True, eq=False)
class ClusterRows:
    """row: (features,) with the ages left NaN; stamps: (3,) when answer, nodes and metrics were true. pools: (m,
    features); pool_share: (m,) of the cluster's cores. keys and counts (r, 4: wanted, existing, ready, pending): what
    runs. free: cores and GiB. seen: the cluster that this is of.
    """

    seen: Cluster
    row: FloatArray
    stamps: FloatArray
    pools: FloatArray
    pool_names: tuple[str, ...]
    pool_share: FloatArray
    keys: tuple[str, ...]
    counts: FloatArray
    free: FloatArray


def renewed(cluster: Cluster, kept: ClusterRows | None) -> ClusterRows:
    """The rows of a cluster, from those of an earlier look at it as far as they hold: a real member is a new value at
    every look, since its ages move, and most often nothing else did.
    """
    if kept is None or not _alike(kept.seen, cluster):
        return cluster_rows(cluster)
    return kept if kept.seen is cluster else replace(kept, seen=cluster, stamps=_stamps(cluster))


def cluster_rows(cluster: Cluster) -> ClusterRows:
    """All raw columns of one cluster."""
    nodes = cluster.nodes
    pools = _pools(nodes)
    cores = pools[:, 0] * pools[:, 1]
    counts = [(one.wanted, one.existing, one.ready, one.pending) for one in cluster.running.values()]
    running = np.array(counts, np.float64).reshape(-1, 4)
    return ClusterRows(
        seen=cluster,
        row=_row(cluster, running),
        stamps=_stamps(cluster),
        pools=pools,
        pool_names=tuple(f"{cluster.name}/{rank}" for rank in range(len(pools))),
        pool_share=cores / max(float(cores.sum()), 1e-9),
        keys=tuple(cluster.running),
        counts=running,
        free=_sum(nodes, nodes.free)[: MEMORY + 1],
    )


def with_ages(rows: FloatArray, stamps: FloatArray, at: float) -> FloatArray:
    """Cluster rows with the ages that they have now, seconds, never below 0; NaN for never."""
    out = rows.copy()
    out[:, _AGES_AT] = np.maximum(at - stamps, 0.0)
    return out


def _alike(one: Cluster, other: Cluster) -> bool:
    """Whether all that rows are made of is the same, ages apart. Nodes and what runs are the same objects where an
    informer saw no change of them.
    """
    return one is other or (
        one.nodes is other.nodes
        and one.running is other.running
        and (one.state, one.price, one.start_s, one.headroom, one.quotas)
        == (other.state, other.price, other.start_s, other.headroom, other.quotas)
    )


def _stamps(cluster: Cluster) -> FloatArray:
    return np.array((cluster.ages.answer, cluster.ages.nodes, cluster.ages.metrics), np.float64)


def _row(cluster: Cluster, running: FloatArray) -> FloatArray:
    nodes = cluster.nodes
    values = np.full(len(_AT), np.nan)
    total, free = _sum(nodes, nodes.allocatable), _sum(nodes, nodes.free)
    wanted, _, ready, pending = running.sum(axis=0)
    told: dict[str, float] = {
        "cpu": total[CPU],
        "memory": total[MEMORY],
        "nodes": float(nodes.count.sum()),
        "price": cluster.price,
        "start": _or_nan(cluster.start_s),
        "quota_left": _quota_left(cluster),
        "headroom": float(cluster.headroom.nodes if cluster.headroom else 0),
        "wanted": wanted,
        "ready": ready,
        "pending": pending,
        **_shares(nodes, total, free),
        **{state.value: float(cluster.state is state) for state in _STATES},
    }
    for name, value in told.items():
        values[_AT[name]] = value
    return values


def _shares(nodes: Nodes, total: FloatArray, free: FloatArray) -> dict[str, float]:
    able = nodes.free[nodes.schedulable][:, : PODS + 1] * _UNITS
    largest = able.max(axis=0) if len(able) else np.zeros(PODS + 1)
    weight = nodes.count * nodes.schedulable
    return {
        "free_cpu": _ratio(free[CPU], total[CPU]),
        "free_memory": _ratio(free[MEMORY], total[MEMORY]),
        "free_pods": _ratio(free[PODS], total[PODS]),
        "used_cpu": _used(nodes, CPU),
        "used_memory": _used(nodes, MEMORY),
        "largest_free_cpu": float(largest[CPU]),
        "largest_free_memory": float(largest[MEMORY]),
        "free_gpus": float(weight @ nodes.gpu_free.sum(axis=1)) / GPU_WHOLE,
        "whole_gpus": float(weight @ (nodes.gpu_free >= GPU_WHOLE).sum(axis=1)),
    }


def _used(nodes: Nodes, resource: int) -> float:
    """Share in use of the schedulable nodes whose use is known, NaN where none is."""
    weight = nodes.count * nodes.schedulable * np.isfinite(nodes.used[:, resource])
    whole = float(weight @ nodes.allocatable[:, resource])
    return _ratio(float(weight @ np.nan_to_num(nodes.used[:, resource])), whole)


def _sum(nodes: Nodes, amounts: IntArray) -> FloatArray:
    """Over schedulable nodes, in cores, GiB and pods."""
    weight = nodes.count * nodes.schedulable
    total: FloatArray = (weight @ amounts[:, : PODS + 1]) * _UNITS
    return total


def _pools(nodes: Nodes) -> FloatArray:
    size = np.bincount(nodes.class_of, weights=nodes.count, minlength=len(nodes.classes))
    order = np.argsort(-size, kind="stable")
    order = order[size[order] > 0]
    rank = np.zeros(max(len(nodes.classes), 1), np.int64)
    rank[order] = np.minimum(np.arange(len(order)), POOLS - 1)
    of_row = rank[nodes.class_of]
    out = [_pool(nodes, of_row == k, nodes.classes[order[k]]) for k in range(min(len(order), POOLS))]
    return np.array(out, np.float64).reshape(-1, len(TABLE["pool"]))


def _pool(nodes: Nodes, rows: BoolArray, kind: NodeClass) -> tuple[float, ...]:
    count = nodes.count[rows].astype(np.float64)
    amounts = nodes.allocatable[rows][:, : PODS + 1] * _UNITS
    free = nodes.free[rows][:, : PODS + 1] * _UNITS
    total, left, many = count @ amounts, count @ free, max(float(count.sum()), 1.0)
    return (
        float(count.sum()),
        float(total[CPU]) / many,
        float(total[MEMORY]) / many,
        float(left[CPU]) / max(float(total[CPU]), 1e-9),
        float(left[MEMORY]) / max(float(total[MEMORY]), 1e-9),
        float(free[:, CPU].max(initial=0.0)),
        float(count @ nodes.gpu_free[rows].sum(axis=1)) / GPU_WHOLE / many,
        float(count @ nodes.schedulable[rows]) / many,
        float(bool(kind.taints)),
        float(kind.label(ARCH_LABEL) == "arm64"),
    )


def _quota_left(cluster: Cluster) -> float:
    left = [
        1.0 - min(1.0, quota.used.get(name, 0) / hard)
        for quota in cluster.quotas
        for name, hard in quota.hard.items()
        if hard > 0
    ]
    return min(left, default=float("nan"))


def _ratio(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole > 0 else float("nan")


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
