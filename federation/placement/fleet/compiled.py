"""The fleet as columns over all rows and over all clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.placement.fleet.classes import ClassTable
from federation.placement.fleet.network import Network
from federation.placement.fleet.rows import Block
from federation.snapshot import Cluster, Int16Array, Snapshot
from prewarm.domain import BoolArray, FloatArray, Int32Array, IntArray


@dataclass(frozen=True, slots=True)
class FleetColumns:
    """C clusters in the snapshot's order with N rows in all and R resources; a row is `count` nodes that are alike.

    starts: (C + 1,) first row of each cluster. cluster_of, class_of, count, open: (N,). free: (R, N) of one node, 0
    where the row takes nothing. gpu_free: (N, D). whole_gpus: (N,) GPUs that nobody uses. total, room: (R, C) over
    nodes that take work, allocatable and free. gpu_room: (C,) free thousandths of GPUs. price: (C,). instances: (C,)
    of everything that is wanted there.
    """

    snapshot: Snapshot
    resources: tuple[str, ...]
    table: ClassTable
    blocks: tuple[Block, ...]
    network: Network
    position: Mapping[str, int]
    starts: IntArray
    cluster_of: Int32Array
    class_of: Int32Array
    count: IntArray
    open: BoolArray
    free: IntArray
    gpu_free: Int16Array
    whole_gpus: Int32Array
    total: FloatArray
    room: FloatArray
    gpu_room: FloatArray
    price: FloatArray
    instances: FloatArray

    def __len__(self) -> int:
        return len(self.snapshot.clusters)

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The snapshot's clusters."""
        return self.snapshot.clusters

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters' names."""
        return tuple(self.position)

    def any_row(self, rows: BoolArray) -> BoolArray:
        """Which clusters have one of the rows, (C,)."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[self.cluster_of[rows]] = True
        return found

    def summed(self, amounts: IntArray) -> IntArray:
        """(N,) summed over each cluster's rows, (C,), exactly."""
        running = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(amounts)])
        sums: IntArray = running[self.starts[1:]] - running[self.starts[:-1]]
        return sums
