"""The fleet as columns over all rows and over all clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.placement.fleet.blocks import Frame
from federation.placement.fleet.facts import Facts
from federation.placement.fleet.network import Network
from federation.placement.fleet.rows import Block, Rows, no_rows
from federation.snapshot import Cluster, Snapshot
from prewarm.domain import BoolArray, FloatArray, Int32Array, IntArray


@dataclass(frozen=True, slots=True)
class FleetColumns:
    """C clusters in the snapshot's order with N rows in all and R resources.

    blocks: the clusters one by one. starts: (C + 1,) first row of each cluster. gapless: every cluster has rows.
    numbers, count: (N,) the state of each row and its nodes. sums: (C, 2 R + 4) as in a block. position: of each
    cluster by its name.
    """

    snapshot: Snapshot
    names: tuple[str, ...]
    position: Mapping[str, int]
    frame: Frame
    blocks: tuple[Block, ...]
    facts: Facts
    network: Network
    starts: IntArray
    gapless: bool
    numbers: IntArray
    count: IntArray
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
    def rows(self) -> Rows:
        """All rows, one cluster after another; made for each asking, since decisions look at states instead."""
        if not self.blocks:
            return no_rows(len(self.resources), self.frame.gpus)
        return Rows.joined([block.rows for block in self.blocks])

    @property
    def cluster_of(self) -> Int32Array:
        """The cluster of each row, (N,)."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))

    @property
    def total(self) -> FloatArray:
        """Allocatable over nodes that take work, (R, C)."""
        return self.sums[:, : len(self.resources)].T

    @property
    def room(self) -> FloatArray:
        """Free over nodes that take work, (R, C)."""
        return self.sums[:, len(self.resources) : -4].T

    @property
    def gpu_room(self) -> FloatArray:
        """Free thousandths of GPUs on nodes that take work, (C,)."""
        return self.sums[:, -4]

    @property
    def gpus(self) -> FloatArray:
        """GPUs of a node at most, (C,)."""
        return self.sums[:, -3]

    @property
    def overstepped(self) -> FloatArray:
        """CPU and memory that is used beyond requests where that is measured, (2, C)."""
        return self.sums[:, -2:].T

    def any_row(self, rows: BoolArray) -> BoolArray:
        """Which clusters have one of the rows, (C,)."""
        return self.summed(rows) > 0

    def summed(self, amounts: IntArray | BoolArray) -> IntArray:
        """(N,) summed over each cluster's rows, (C,), exactly."""
        if self.gapless:
            return np.add.reduceat(amounts, self.starts[:-1], dtype=np.int64)
        sums, full = np.zeros(len(self), dtype=np.int64), self.starts[1:] > self.starts[:-1]
        if full.any():
            sums[full] = np.add.reduceat(amounts, self.starts[:-1][full], dtype=np.int64)
        return sums

    def highest(self, amounts: FloatArray | IntArray, *, none: float) -> FloatArray:
        """The highest of (N,) in each cluster, (C,), `none` where a cluster has no rows."""
        if self.gapless:
            return np.maximum.reduceat(amounts, self.starts[:-1])
        best, full = np.full(len(self), none), self.starts[1:] > self.starts[:-1]
        if full.any():
            best[full] = np.maximum.reduceat(amounts, self.starts[:-1][full])
        return best
