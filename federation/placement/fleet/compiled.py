"""The fleet as columns over all rows and over all clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.placement.fleet.facts import Facts
from federation.placement.fleet.network import Network
from federation.placement.fleet.rows import Block, Frame, Rows
from federation.snapshot import Cluster, Snapshot
from prewarm.domain import BoolArray, FloatArray, Int32Array, IntArray


@dataclass(frozen=True, slots=True)
class FleetColumns:
    """C clusters in the snapshot's order with N rows in all and R resources.

    blocks: the clusters one by one; rows: all of them, one after another. starts: (C + 1,) first row of each cluster.
    cluster_of: (N,). sums: (C, 2 R + 1) as in a block. position: of each cluster by its name.
    """

    snapshot: Snapshot
    names: tuple[str, ...]
    position: Mapping[str, int]
    frame: Frame
    blocks: tuple[Block, ...]
    facts: Facts
    network: Network
    starts: IntArray
    cluster_of: Int32Array
    rows: Rows
    sums: FloatArray

    def __len__(self) -> int:
        return len(self.names)

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The snapshot's clusters."""
        return self.snapshot.clusters

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of the R resources."""
        return self.frame.resources

    @property
    def total(self) -> FloatArray:
        """Allocatable over nodes that take work, (R, C)."""
        return self.sums[:, : len(self.resources)].T

    @property
    def room(self) -> FloatArray:
        """Free over nodes that take work, (R, C)."""
        return self.sums[:, len(self.resources) : -1].T

    @property
    def gpu_room(self) -> FloatArray:
        """Free thousandths of GPUs on nodes that take work, (C,)."""
        return self.sums[:, -1]

    def any_row(self, rows: BoolArray) -> BoolArray:
        """Which clusters have one of the rows, (C,)."""
        return self.summed(rows) > 0

    def summed(self, amounts: IntArray | BoolArray) -> IntArray:
        """(N,) summed over each cluster's rows, (C,), exactly."""
        running = np.zeros(len(amounts) + 1, dtype=np.int64)
        np.cumsum(amounts, out=running[1:])
        sums: IntArray = running[self.starts[1:]] - running[self.starts[:-1]]
        return sums

    def highest(self, amounts: FloatArray, *, none: float) -> FloatArray:
        """The highest of (N,) in each cluster, (C,), `none` where a cluster has no rows."""
        best = np.full(len(self), none)
        full = self.starts[1:] > self.starts[:-1]
        if full.any():
            best[full] = np.maximum.reduceat(amounts, self.starts[:-1][full])
        return best
