"""The simulated fleet of an episode: instances on nodes, seen through snapshots in which only what changed is new."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from federation.placement.workload import Workload
from federation.snapshot import BASE_RESOURCES, CPU, PODS, Ages, Cluster, Running, Snapshot, frozen
from gnn.fleet.draw import START, Episode
from gnn.fleet.telemetry import open_nodes, with_node
from prewarm.domain import FloatArray, IntArray

USUAL_START_S = 3.0
"""Of an instance where nobody measures it."""


class FleetState:
    """Instances go to the node of their cluster with most CPU left, as a default scheduler would send them."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.clusters: list[Cluster] = list(episode.clusters)
        self.now = START
        self._open = [open_nodes(one.nodes) for one in self.clusters]
        self._whole = np.array([row @ one.nodes.allocatable[:, :PODS] for row, one in self._rows()], np.float64)
        self._on: dict[str, list[IntArray]] = {}
        """By workload: instances by node, for each cluster."""
        self._asks: dict[str, IntArray] = {}
        self._starting: list[tuple[float, int, str, int]] = []
        """When, in which cluster and of which workload so many instances are ready."""

    def snapshot(self) -> Snapshot:
        """The fleet now."""
        over = [one for one in self._starting if one[0] <= self.now]
        self._starting = [one for one in self._starting if one[0] > self.now]
        for _, column, key, number in over:
            cluster = self.clusters[column]
            if (there := cluster.running.get(key)) is not None:
                whole = replace(there, ready=max(there.ready, min(there.existing, number)))
                self.clusters[column] = replace(cluster, running=frozen({**cluster.running, key: whole}))
        told = tuple(replace(one, ages=_aged(one.ages, self.now - START)) for one in self.clusters)
        return Snapshot(self.now, told, self.episode.links, self.episode.calls)

    def counts(self, key: str) -> IntArray:
        """Instances of a workload by cluster, (C,)."""
        nodes = self._on.get(key)
        found = [0] * len(self.clusters) if nodes is None else [int(one.sum()) for one in nodes]
        return np.array(found, np.int64)

    def loads(self) -> FloatArray:
        """Share of each cluster's CPU or memory, whichever is more, that is requested, (C,)."""
        return _load(self._taken(), self._whole)

    def loads_with(self, workload: Workload, more: IntArray) -> FloatArray:
        """The same with so many more instances of a workload in each cluster, (C,)."""
        ask = _ask(workload)
        whole = self._whole.copy()
        for column in np.flatnonzero(more > 0).tolist():
            added, shape = _nodes_needed(self.clusters[column], ask, int(more[column]))
            whole[column] += added * shape[:PODS]
        return _load(self._taken() + more[:, None] * ask[None, :PODS], whole)

    def _taken(self) -> FloatArray:
        return np.array([row @ one.nodes.requested[:, :PODS] for row, one in self._rows()], np.float64)

    def _rows(self) -> list[tuple[FloatArray, Cluster]]:
        return list(zip(self._open, self.clusters, strict=True))

    def remove(self, key: str) -> None:
        """A workload ends."""
        if key in self._on:
            self.set(key, self._asks[key], np.zeros(len(self.clusters), np.int64))
            del self._on[key], self._asks[key]

    def put(self, workload: Workload, counts: IntArray) -> None:
        """A workload now has so many instances by cluster, (C,); they must fit."""
        self.set(workload.key, _ask(workload), counts)

    def set(self, key: str, ask: IntArray, counts: IntArray) -> None:
        """Bind what is new and let go of what is too much, where the count changed."""
        held = self._on.setdefault(key, [np.zeros(len(one.nodes), np.int64) for one in self.clusters])
        self._asks[key] = ask
        for column in np.flatnonzero(counts != [int(one.sum()) for one in held]).tolist():
            cluster = self._roomy(column, ask, int(counts[column] - held[column].sum()))
            requested = cluster.nodes.requested.copy()
            room = np.where(self._open[column][:, None] > 0, cluster.nodes.allocatable, 0)
            _bind(requested, room, held[column], ask=ask, count=int(counts[column]))
            running = dict(cluster.running)
            before = running.pop(key, None)
            if wanted := int(counts[column]):
                ready = min(before.ready, wanted) if before is not None else 0
                running[key] = Running(wanted, wanted, ready)
                if ready < wanted:
                    self._starting.append((self.now + (cluster.start_s or USUAL_START_S), column, key, wanted))
            nodes = replace(cluster.nodes, requested=requested)
            self.clusters[column] = replace(cluster, nodes=nodes, running=frozen(running))

    def _roomy(self, column: int, ask: IntArray, more: int) -> Cluster:
        """The cluster, with as many nodes of its declared headroom as so many more instances need."""
        cluster = self.clusters[column]
        added, _ = _nodes_needed(cluster, ask, more)
        if not added or cluster.headroom is None:
            return cluster
        nodes = cluster.nodes
        for _ in range(added):
            nodes = with_node(nodes, cluster.headroom)
        left = replace(cluster.headroom, nodes=cluster.headroom.nodes - added)
        self.clusters[column] = cluster = replace(cluster, nodes=nodes, headroom=left)
        self._open[column] = open_nodes(nodes)
        self._whole[column] = self._open[column] @ nodes.allocatable[:, :PODS]
        for held in self._on.values():
            held[column] = np.append(held[column], np.zeros(added, np.int64))
        return cluster


def _ask(workload: Workload) -> IntArray:
    """What one instance takes of a node, (3,)."""
    return np.array([workload.requests["cpu"], workload.requests["memory"], 1], np.int64)


def _nodes_needed(cluster: Cluster, ask: IntArray, more: int) -> tuple[int, IntArray]:
    """Nodes of the declared headroom without which so many more instances do not fit, and what each has, (3,)."""
    declared = cluster.headroom
    if declared is None:
        return 0, np.zeros(3, np.int64)
    shape = np.array([declared.allocatable[name] for name in BASE_RESOURCES], np.int64)
    each = int((shape // np.maximum(ask, 1)).min())
    missing = more - int(open_nodes(cluster.nodes) @ (cluster.nodes.free // np.maximum(ask, 1)).min(axis=1))
    needed = -(-missing // each) if each and missing > 0 else 0
    return min(needed, declared.nodes), shape


def _aged(ages: Ages, passed_s: float) -> Ages:
    """What is told so much later: as old as at the beginning."""
    stamps = (ages.answer, ages.nodes, ages.pods, ages.quotas, ages.metrics)
    return Ages(*(None if stamp is None else stamp + passed_s for stamp in stamps))


def _load(taken: FloatArray, whole: FloatArray) -> FloatArray:
    share: FloatArray = (taken / whole).max(axis=1)
    return share


def _bind(requested: IntArray, allocatable: IntArray, held: IntArray, *, ask: IntArray, count: int) -> None:
    """Change `held` (g,) to sum to `count`, and `requested` (g, R) with it."""
    while held.sum() > count:
        fullest = int(np.where(held > 0, requested[:, CPU], -1).argmax())
        held[fullest] -= 1
        requested[fullest] -= ask
    while held.sum() < count:
        left = allocatable - requested
        fits = (left >= ask).all(axis=1)
        assert fits.any(), "placement gave a cluster more than it has room for"
        node = int(np.where(fits, left[:, CPU], -1).argmax())
        held[node] += 1
        requested[node] += ask
