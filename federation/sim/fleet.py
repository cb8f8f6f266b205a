"""The embedded world's clusters: instances that start, serve and are lost, seen through snapshots like any member's.

Time is an argument. `apply` takes a plan (instances by function and cluster) and goes towards it by the same steps as
for a real fleet: the new instances first, and the old ones when those are ready. `snapshot` lets time pass: starts
finish, nodes fail and come back. What is lost is started again where it was, as a cluster does by itself, as soon as
there is room; moving it elsewhere is the planner's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from federation.placement.safety.steps import next_step
from federation.sim.instances import Instances
from federation.sim.outages import DAY_S, dark_since, lost_nodes, outages_of
from federation.sim.packing import Packed, pack
from federation.sim.shape import CLUSTERS, MIB, ClusterShape, links_of
from federation.snapshot import Ages, Cluster, MemberState, NodeClass, Nodes, Running, Snapshot, frozen
from prewarm.domain import FloatArray, FunctionKey, Int32Array, IntArray
from prewarm.settings import Call

CPU_PER_INSTANCE_MILLI = 100


@dataclass(frozen=True, slots=True)
class Kind:
    """The functions that run there, one row each: names, memory of an instance, and mean start-up time."""

    keys: tuple[FunctionKey, ...]
    memory_mib: IntArray
    start_s: FloatArray


class SimulatedFleet:
    """Clusters under one plan; everything they do follows from the seed, the plans and the times given."""

    def __init__(
        self, seed: int, kind: Kind, graph: Sequence[Call] = (), *, clusters: tuple[ClusterShape, ...] = CLUSTERS
    ) -> None:
        self.kind = kind
        self.clusters = clusters
        self.names = tuple(one.name for one in clusters)
        n, c = len(kind.keys), len(clusters)
        self.instances = Instances(n, c, np.random.default_rng([seed, 5]))
        self.wanted: IntArray = np.zeros((n, c), dtype=np.int64)
        """What the clusters are told to hold now, on the way to the plan."""
        self._plan: IntArray = np.zeros((n, c), dtype=np.int64)
        self._seed = seed
        self._graph = tuple(graph)
        self._links = links_of(clusters)
        self._up = [one.nodes for one in clusters]
        self._since = [(MemberState.READY, 0.0)] * c
        self._sizes, self._size_of = np.unique(kind.memory_mib, return_inverse=True)

    def apply(self, plan: IntArray | Int32Array, now: float) -> None:
        """Go towards `plan` (n, c) from `now` on."""
        self._plan = np.asarray(plan, dtype=np.int64).copy()
        self._step(now)

    def snapshot(self, now: float) -> Snapshot:
        """Let time pass until `now`, and look."""
        self._advance(now)
        members = [self._cluster(column, now) for column in range(len(self.clusters))]
        return Snapshot(now, tuple(sorted(members, key=lambda one: one.name)), self._links, self._graph)

    def start_on_demand(self, need: IntArray, near: FloatArray, now: float) -> IntArray:
        """Start what calls need beyond what is there, (n,), as a cold start does; returns how many.

        near: (n, c) how near each cluster is to the calls, 0..1. They start where the function is, else nearest to its
        calls, in a cluster that answers.
        """
        more: IntArray = np.maximum(need - self.instances.existing().sum(axis=1), 0)
        answers = np.array([state is MemberState.READY for state, _ in self._since], dtype=np.float64)
        column = (((self.wanted > 0) + near) * answers[None, :]).argmax(axis=1)
        rows = np.flatnonzero(more)
        self._plan[rows, column[rows]] += more[rows]
        self._step(now)
        return more

    def _advance(self, now: float) -> None:
        whole = tuple(one.nodes for one in self.clusters)
        outages = outages_of(self._seed, int(now // DAY_S), whole)
        self.instances.finish(now)
        lost = lost_nodes(outages, whole, now)
        self._up = [nodes - gone for nodes, gone in zip(whole, lost, strict=True)]
        for column in range(len(self.clusters)):
            self._settle(column)
            dark = dark_since(outages, column, now)
            state = MemberState.READY if dark is None else MemberState.DARK
            if self._since[column][0] is not state:
                self._since[column] = (state, now if dark is None else dark)
        self._step(now)

    def _settle(self, column: int) -> None:
        """What no node holds is lost."""
        packed = self._pack(column, self.instances.existing()[:, column])
        for size_row in np.flatnonzero(packed.unbound):
            self.instances.lose(np.flatnonzero(self._size_of == size_row), column, int(packed.unbound[size_row]))

    def _pack(self, column: int, counts: IntArray) -> Packed:
        shape = self.clusters[column]
        by_size = np.bincount(self._size_of, weights=counts, minlength=len(self._sizes)).astype(np.int64)
        return pack(self._sizes, by_size, nodes=self._up[column], node_mib=shape.node_mib, node_pods=shape.node_pods)

    def _step(self, now: float) -> None:
        """Tell the clusters what to hold next, start what is missing there, and let go of what is too much."""
        existing = self.instances.existing()
        for row in np.flatnonzero((self._plan != self.wanted).any(axis=1)):
            running = {name: self._running(int(row), column, existing) for column, name in enumerate(self.names)}
            step = next_step(dict(zip(self.names, self._plan[row].tolist(), strict=True)), running)
            self.wanted[row] = [step.wanted[name] for name in self.names]
        self.instances.stop(np.maximum(existing - self.wanted, 0))
        missing = np.maximum(self.wanted - self.instances.existing(), 0)
        for column in np.flatnonzero(missing.any(axis=0)):
            if self._since[column][0] is MemberState.READY:
                self._start(int(column), missing[:, column], now)

    def _start(self, column: int, missing: IntArray, now: float) -> None:
        """Start what there is room for; the rest stays wanted."""
        short = self._pack(column, self.instances.existing()[:, column] + missing).unbound.copy()
        for row in np.flatnonzero(missing):
            size_row, count = int(self._size_of[row]), int(missing[row])
            waits = min(count, int(short[size_row]))
            short[size_row] -= waits
            mean_s = float(self.kind.start_s[row]) * self.clusters[column].start_factor
            self.instances.start(int(row), column, count=count - waits, mean_s=mean_s, now=now)

    def _running(self, row: int, column: int, existing: IntArray) -> Running:
        ready = int(self.instances.ready[row, column])
        size = int(self._sizes[self._size_of[row]]) * MIB
        each = (("cpu", CPU_PER_INSTANCE_MILLI), ("memory", size))
        return Running(int(self.wanted[row, column]), int(existing[row, column]), ready, each=each)

    def _cluster(self, column: int, now: float) -> Cluster:
        shape, (state, since) = self.clusters[column], self._since[column]
        existing = self.instances.existing()
        here = np.flatnonzero((existing[:, column] > 0) | (self.wanted[:, column] > 0))
        seen = now if state is MemberState.READY else since
        return Cluster(
            name=shape.name,
            context="simulated",
            state=state,
            since=since,
            nodes=_nodes(shape, self._pack(column, existing[:, column])),
            region=shape.region,
            price=shape.price,
            running=frozen({str(self.kind.keys[row]): self._running(int(row), column, existing) for row in here}),
            start_s=float(np.median(self.kind.start_s)) * shape.start_factor,
            ages=Ages(answer=seen, nodes=seen, pods=seen, quotas=seen, metrics=seen),
            why=None if state is MemberState.READY else "simulated outage",
        )


def _nodes(shape: ClusterShape, packed: Packed) -> Nodes:
    up = len(packed.memory_mib)
    requested = np.zeros((shape.nodes, 3), dtype=np.int64)
    requested[:up, 0] = packed.pods * CPU_PER_INSTANCE_MILLI
    requested[:up, 1] = packed.memory_mib * MIB
    requested[:up, 2] = packed.pods
    whole = (shape.node_cpu_milli, shape.node_mib * MIB, shape.node_pods)
    return Nodes(
        resources=("cpu", "memory", "pods"),
        classes=(NodeClass(labels=(("kubernetes.io/arch", "amd64"), ("kubernetes.io/os", "linux"))),),
        class_of=np.zeros(shape.nodes, dtype=np.int32),
        count=np.ones(shape.nodes, dtype=np.int32),
        allocatable=np.tile(np.array(whole, dtype=np.int64), (shape.nodes, 1)),
        requested=requested,
        used=np.full((shape.nodes, 2), np.nan),
        gpu_free=np.zeros((shape.nodes, 0), dtype=np.int16),
        schedulable=np.arange(shape.nodes) < up,
        names=tuple((f"{shape.name}-node-{number + 1}",) for number in range(shape.nodes)),
    )
