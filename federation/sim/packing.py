"""Which instances of a simulated cluster are on which node, as far as a snapshot needs it: totals by node.

Each size of instance is spread evenly over the nodes, the largest first, as a scheduler that prefers the emptiest node
would end up doing; what fits on no node stays unbound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import IntArray


@dataclass(frozen=True, slots=True)
class Packed:
    """memory_mib, pods: (m,) by node. unbound: (s,) instances of each size that no node holds."""

    memory_mib: IntArray
    pods: IntArray
    unbound: IntArray


def pack(sizes: IntArray, counts: IntArray, *, nodes: int, node_mib: int, node_pods: int) -> Packed:
    """`counts` (s,) instances of `sizes` (s,) MiB onto nodes that are alike."""
    memory, pods = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    unbound = np.zeros(len(sizes), dtype=np.int64)
    for at in np.argsort(-sizes, kind="stable"):
        size, left = int(sizes[at]), int(counts[at])
        while left:
            room = np.minimum((node_mib - memory) // max(size, 1), node_pods - pods)
            if not (room > 0).any():
                break
            open_to = np.flatnonzero(room > 0)
            share = max(1, left // len(open_to))
            emptiest = open_to[np.argsort(memory[open_to], kind="stable")][:left]
            given = np.minimum(share, room[emptiest])
            memory[emptiest] += given * size
            pods[emptiest] += given
            left -= int(given.sum())
        unbound[at] = left
    return Packed(memory, pods, unbound)
