"""The simulated fleet of an episode: instances on nodes, seen through snapshots in which only what changed is new."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from federation.placement.workload import Workload
from federation.snapshot import CPU, PODS, Cluster, Running, Snapshot, frozen
from gnn.fleet.draw import START, Episode
from prewarm.domain import FloatArray, IntArray


class FleetState:
    """Instances go to the node of their cluster with most CPU left, as a default scheduler would send them."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.clusters: list[Cluster] = list(episode.clusters)
        self.now = START
        self._whole = np.array([one.nodes.allocatable[:, :PODS].sum(axis=0) for one in self.clusters], np.float64)
        self._on: dict[str, list[IntArray]] = {}
        """By workload: instances by node, for each cluster."""
        self._asks: dict[str, IntArray] = {}

    def snapshot(self) -> Snapshot:
        """The fleet now."""
        return Snapshot(self.now, tuple(self.clusters), self.episode.links, self.episode.calls)

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
        ask = np.array([workload.requests["cpu"], workload.requests["memory"]])
        return _load(self._taken() + more[:, None] * ask[None, :], self._whole)

    def _taken(self) -> FloatArray:
        return np.array([one.nodes.requested[:, :PODS].sum(axis=0) for one in self.clusters], np.float64)

    def remove(self, key: str) -> None:
        """A workload ends."""
        if key in self._on:
            self.set(key, self._asks[key], np.zeros(len(self.clusters), np.int64))
            del self._on[key], self._asks[key]

    def put(self, workload: Workload, counts: IntArray) -> None:
        """A workload now has so many instances by cluster, (C,); they must fit."""
        ask = np.array([workload.requests["cpu"], workload.requests["memory"], 1], np.int64)
        self.set(workload.key, ask, counts)

    def set(self, key: str, ask: IntArray, counts: IntArray) -> None:
        """Bind what is new and let go of what is too much, where the count changed."""
        held = self._on.setdefault(key, [np.zeros(len(one.nodes), np.int64) for one in self.clusters])
        self._asks[key] = ask
        for column in np.flatnonzero(counts != [int(one.sum()) for one in held]).tolist():
            cluster = self.clusters[column]
            requested = cluster.nodes.requested.copy()
            _bind(requested, cluster.nodes.allocatable, held[column], ask=ask, count=int(counts[column]))
            running = dict(cluster.running)
            running.pop(key, None)
            if counts[column]:
                running[key] = Running(wanted := int(counts[column]), wanted, wanted)
            nodes = replace(cluster.nodes, requested=requested)
            self.clusters[column] = replace(cluster, nodes=nodes, running=frozen(running))


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
