"""The large fleet of the placement-scale benchmark: a hundred clusters of 5,000 nodes each, as summaries.

A summary counts nodes by openb's kind and by the share of a node that is free, in tenths (rounded down); shares are
Beta(4 m, 4 (1 - m)) with m uniform in 0.2-0.6 for each cluster.
Clusters lie at random points of a square, which is cut into nine regions;
delays are 1-200 ms by distance. Workloads take openb's pod shapes, 1-50 replicas (log-uniform); a fifth is bound to a
region and a tenth is spread over three clusters or more; each is called from one to three regions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from federation.bench.openb import MIB, NodeKind, PodShape, read_nodes, read_pods
from federation.placement.workload import Affinity, Caller, Spread, Workload
from federation.snapshot import (
    BASE_RESOURCES,
    GPU_WHOLE,
    Ages,
    Cluster,
    Int16Array,
    Links,
    MemberState,
    Nodes,
    Snapshot,
    frozen,
)
from prewarm.domain import FloatArray, IntArray

CLUSTERS, NODES_EACH, WORKLOADS = 100, 5_000, 5_000
SIDE = 3
"""Regions are the squares of a SIDE x SIDE grid."""
PODS_EACH = 110
_TENTHS = 10
_MOST_REPLICAS = 50


@dataclass(slots=True)
class LargeFleet:
    """The fleet as it changes; everything random comes from one generator."""

    kinds: tuple[tuple[NodeKind, int], ...]
    pods: tuple[PodShape, ...]
    free_mean: FloatArray
    snapshot: Snapshot
    rng: np.random.Generator

    def change(self, now: float) -> Snapshot:
        """A snapshot in which the summary of one cluster, drawn at random, is a new one."""
        at = int(self.rng.integers(len(self.snapshot.clusters)))
        seen = Ages(now, now, now, now, now)
        one = replace(self.snapshot.clusters[at], nodes=_summary(self.kinds, self.free_mean[at], self.rng), ages=seen)
        clusters = (*self.snapshot.clusters[:at], one, *self.snapshot.clusters[at + 1 :])
        self.snapshot = replace(self.snapshot, at=now, clusters=clusters)
        return self.snapshot

    def workload(self, number: int) -> Workload:
        """The next workload."""
        pod = self.pods[int(self.rng.integers(len(self.pods)))]
        replicas = round(float(np.exp(self.rng.uniform(0.0, np.log(_MOST_REPLICAS)))))
        bound, spread = self.rng.random(2)
        callers = self.rng.choice(SIDE * SIDE, size=int(self.rng.integers(1, 4)), replace=False)
        return Workload(
            key=f"bench/w{number}",
            kind="deployment",
            replicas=replicas,
            requests=frozen({"cpu": pod.cpu_milli, "memory": pod.memory_mib * MIB}),
            gpu=pod.gpu,
            affinity=Affinity(regions=(f"r{int(callers[0])}",) if bound < 0.2 else ()),
            spread=Spread(min_clusters=3 if spread < 0.1 else 1),
            callers=tuple(Caller(float(self.rng.uniform(1, 100)), region=f"r{at}") for at in callers.tolist()),
        )


def large_fleet(data_dir: Path, rng: np.random.Generator, *, now: float) -> LargeFleet:
    """The fleet at its start."""
    kinds, pods = read_nodes(data_dir), read_pods(data_dir)
    mean, points = rng.uniform(0.2, 0.6, CLUSTERS), rng.random((CLUSTERS, 2))
    seen, square = Ages(now, now, now, now, now), np.minimum((points * SIDE).astype(np.int64), SIDE - 1)
    clusters = tuple(
        Cluster(
            name=f"c{at:03d}",
            context=f"c{at:03d}",
            state=MemberState.READY,
            since=now,
            nodes=_summary(kinds, mean[at], rng),
            region=f"r{square[at, 0] * SIDE + square[at, 1]}",
            price=float(rng.uniform(0.7, 1.4)),
            ages=seen,
        )
        for at in range(CLUSTERS)
    )
    names = tuple(one.name for one in clusters)
    links = Links(names, _delays_ms(points), np.full((CLUSTERS, CLUSTERS), np.nan))
    return LargeFleet(kinds, pods, mean, Snapshot(now, clusters, links), rng)


def _delays_ms(points: FloatArray) -> FloatArray:
    """1 ms where two lie together, 200 ms between the farthest two."""
    apart = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    delays: FloatArray = 1.0 + 199.0 * apart / apart.max()
    return delays


def _summary(kinds: tuple[tuple[NodeKind, int], ...], free_mean: float, rng: np.random.Generator) -> Nodes:
    """Nodes by kind and free tenth; kinds in openb's proportions."""
    weight = np.array([count for _, count in kinds], dtype=np.float64)
    kind = rng.choice(len(kinds), size=NODES_EACH, p=weight / weight.sum())
    tenth = np.minimum(
        (rng.beta(4 * free_mean, 4 * (1 - free_mean), NODES_EACH) * _TENTHS).astype(np.int64), _TENTHS - 1
    )
    counts = np.zeros((len(kinds), _TENTHS), dtype=np.int64)
    np.add.at(counts, (kind, tenth), 1)
    row_kind, row_tenth = np.nonzero(counts)
    each = np.array([(k.cpu_milli, k.memory_mib * MIB, PODS_EACH) for k, _ in kinds], dtype=np.int64)[row_kind]
    gpus = np.array([k.gpus for k, _ in kinds], dtype=np.int64)[row_kind]
    return Nodes(
        resources=BASE_RESOURCES,
        classes=tuple(k.node_class for k, _ in kinds),
        class_of=row_kind.astype(np.int32),
        count=counts[row_kind, row_tenth].astype(np.int32),
        allocatable=each,
        requested=each - each * row_tenth[:, None] // _TENTHS,
        used=np.full((len(each), 2), np.nan),
        gpu_free=_gpu_free(gpus, row_tenth),
        schedulable=np.ones(len(each), dtype=np.bool_),
    )


def _gpu_free(gpus: IntArray, tenth: IntArray) -> Int16Array:
    """The free tenth of all GPUs of a node, packed: free ones whole, then one that is shared."""
    left = gpus * GPU_WHOLE * tenth // _TENTHS
    at = np.arange(int(gpus.max(initial=0)))[None, :] * GPU_WHOLE
    free: Int16Array = np.clip(left[:, None] - at, 0, GPU_WHOLE).astype(np.int16)
    return free
