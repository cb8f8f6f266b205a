"""The clusters as the planner of pools sees them: columns of room, delay, price and standing, from a snapshot.

A cluster that does not answer is left. One that refuses us, or whose nodes were not seen lately, keeps exactly what it
has; a cordoned one gets nothing new; one that was lost and came back gets nothing until it has been well for
`failback_s`. Room is the memory that is free on nodes which take work, plus what the pools hold there already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.placement.filters.standing import oldest_s
from federation.placement.fleet.network import network_of
from federation.placement.safety.failback import well_for_s
from federation.pools.question import SeedArray, seeds_of
from federation.snapshot import MEMORY, PODS, Cluster, MemberState, Snapshot
from prewarm.domain import BoolArray, FloatArray, IntArray
from prewarm.settings import PlacementPolicy

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sites:
    """Columns over c clusters, in the snapshot's order.

    delay_ms, bandwidth_mbps: (c, c) between them, NaN unknown; from_region: by region, (c,). free: memory in MiB. left:
    work leaves it. full: nothing new. kept: nothing goes either. why: what is wrong with it, in words. since_lost: when
    each cluster was last seen lost, for those that are lost or not yet trusted again.
    """

    names: tuple[str, ...]
    seed: SeedArray
    delay_ms: FloatArray
    bandwidth_mbps: FloatArray
    from_region: Mapping[str, FloatArray]
    price: FloatArray
    risk: FloatArray
    free: IntArray
    total: IntArray
    left: BoolArray
    full: BoolArray
    kept: BoolArray
    why: tuple[str | None, ...]
    since_lost: Mapping[str, float]
    clusters: tuple[Cluster, ...]

    def __len__(self) -> int:
        return len(self.names)

    def from_regions(self, regions: tuple[str, ...]) -> FloatArray:
        """One-way delay in ms from each region to each cluster, (R, c), NaN where nobody knows."""
        unknown = np.full(len(self), np.nan)
        delays = [self.from_region.get(region, unknown) for region in regions]
        return np.array(delays, dtype=np.float64).reshape(len(regions), len(self))

    def fits(self, size: IntArray) -> IntArray:
        """Instances of each size (n,) in MiB that nodes could take now, (n, c), counted node by node."""
        sizes, row = np.unique(size, return_inverse=True)
        counts = np.stack([_fits(cluster, sizes) for cluster in self.clusters], axis=1) if len(self) else None
        return np.zeros((len(size), 0), dtype=np.int64) if counts is None else counts[row]


def sites_of(snapshot: Snapshot, *, policy: PlacementPolicy, since_lost: Mapping[str, float], now: float) -> Sites:
    """The snapshot in columns; `since_lost` is that of the last tick, empty at first."""
    net = network_of(snapshot, None)
    clusters = snapshot.clusters
    standing = [_standing(one, policy, now) for one in clusters]
    lost = {one.name: now for one in clusters if one.state is MemberState.DARK}
    waits = {
        one.name: at
        for one in clusters
        if (at := since_lost.get(one.name)) is not None and well_for_s(one, now) < policy.failback_s
    }
    memory = [_memory(one) for one in clusters]
    names = tuple(one.name for one in clusters)
    why = tuple(
        said
        or (
            f"came back {well_for_s(one, now):.0f} s ago, trusted from {policy.failback_s:.0f} s on"
            if name in waits
            else None
        )
        for (said, _), one, name in zip(standing, clusters, names, strict=True)
    )
    kinds = [kind for _, kind in standing]
    return Sites(
        names=names,
        seed=seeds_of(names),
        delay_ms=net.delay_ms,
        bandwidth_mbps=net.bandwidth_mbps,
        from_region=net.from_region,
        price=np.array([one.price for one in clusters], dtype=np.float64),
        risk=np.array([_risk(one, policy, now) for one in clusters], dtype=np.float64),
        free=np.array([free for free, _ in memory], dtype=np.int64),
        total=np.array([total for _, total in memory], dtype=np.int64),
        left=np.array([kind == "left" for kind in kinds], dtype=np.bool_),
        full=np.array(
            [kind != "open" or name in waits for kind, name in zip(kinds, names, strict=True)], dtype=np.bool_
        ),
        kept=np.array([kind == "kept" for kind in kinds], dtype=np.bool_),
        why=why,
        since_lost={**waits, **lost},
        clusters=clusters,
    )


def _standing(cluster: Cluster, policy: PlacementPolicy, now: float) -> tuple[str | None, str]:
    """What is wrong with a cluster, and what follows: open, full (nothing new), kept (nothing goes), left."""
    told = f" ({cluster.why})" if cluster.why else ""
    if cluster.state is MemberState.DARK:
        return f"does not answer{told}", "left"
    if cluster.state is MemberState.REFUSED:
        return f"refuses our credentials{told}", "kept"
    if cluster.state is MemberState.CORDONED:
        return f"cordoned: nothing new goes there{told}", "full"
    age = oldest_s(cluster, now)
    if age is None or age > policy.stale_s:
        seen = "never seen" if age is None else f"last seen {age:.0f} s ago, limit {policy.stale_s:.0f} s"
        return f"its nodes or pods were {seen}", "kept"
    return None, "open"


def _risk(cluster: Cluster, policy: PlacementPolicy, now: float) -> float:
    """1 for a fresh and quick member, less with the age of its data from half of `stale_s` on, and where it is slow."""
    age = oldest_s(cluster, now)
    half = policy.stale_s / 2
    late = 1.0 if age is None else min(max((age - half) / half, 0.0), 1.0)
    return 1.0 - (late + (cluster.state is MemberState.SLOW)) / 2


def _memory(cluster: Cluster) -> tuple[int, int]:
    """MiB that are free, and in all, on nodes that take work."""
    nodes = cluster.nodes
    weight = nodes.count * nodes.schedulable
    return int((nodes.free[:, MEMORY] // MIB * weight).sum()), int((nodes.allocatable[:, MEMORY] // MIB * weight).sum())


def _fits(cluster: Cluster, sizes: IntArray) -> IntArray:
    nodes = cluster.nodes
    free = nodes.free[nodes.schedulable]
    by_memory = (free[None, :, MEMORY] // MIB) // np.maximum(sizes, 1)[:, None]
    each = np.minimum(by_memory, free[None, :, PODS])
    fits: IntArray = (each * nodes.count[nodes.schedulable]).sum(axis=1).astype(np.int64)
    return fits
