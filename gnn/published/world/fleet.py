"""The nodes of the published cluster, and the one node of equal room that no placement can beat by much.

Cores and GB are whole numbers, as every request here is. Delays are one way, in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, IntArray

LARGE, SMALL = (32, 256), (8, 32)
INSIDE_S, BETWEEN_S = 0.001, 0.020


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """cpu, memory_gb, cluster: (n,) by node. delay_s: (c, c) one way."""

    cpu: IntArray
    memory_gb: IntArray
    cluster: IntArray
    delay_s: FloatArray

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.cpu)

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(self.delay_s)

    @property
    def cores(self) -> int:
        """All cores."""
        return int(self.cpu.sum())


def published_fleet() -> Fleet:
    """Cluster 0: three nodes of 32 cores and 256 GB, four of 8 and 32; cluster 1: six of 8 and 32; 176 cores."""
    shapes = [LARGE] * 3 + [SMALL] * 4 + [SMALL] * 6
    cpu, memory = np.array(shapes, dtype=np.int64).T.copy()
    delay_s = np.array([[INSIDE_S, BETWEEN_S], [BETWEEN_S, INSIDE_S]])
    return Fleet(cpu, memory, np.array([0] * 7 + [1] * 6, dtype=np.int64), delay_s)


def pooled_fleet() -> Fleet:
    """One node with the room of all."""
    whole = published_fleet()
    return Fleet(
        np.array([whole.cores], dtype=np.int64),
        np.array([whole.memory_gb.sum()], dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.array([[INSIDE_S]]),
    )
