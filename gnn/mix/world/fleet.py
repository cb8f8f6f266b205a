"""The clusters: nodes drawn from a public fleet, what memory costs in each, and how far they are apart.

Only memory is counted, and by cluster: a function's instances are small beside a node, so which node holds one is not
part of this problem. Fleets of other sizes repeat the pattern of the five, at random places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prewarm.domain import FloatArray, IntArray

NODES = (27, 19, 15, 9, 6)
PRICES = (1.00, 0.90, 1.10, 0.80, 1.25)
WAVE_PEAKS_MIN = (0.0, 0.0, 120.0, 300.0, 480.0)
INSIDE_MS = 1.0
DELAYS_MS = (
    (INSIDE_MS, 18.0, 42.0, 75.0, 110.0),
    (18.0, INSIDE_MS, 30.0, 68.0, 95.0),
    (42.0, 30.0, INSIDE_MS, 38.0, 70.0),
    (75.0, 68.0, 38.0, INSIDE_MS, 45.0),
    (110.0, 95.0, 70.0, 45.0, INSIDE_MS),
)
FARTHEST_MS = 110.0  # of random places, as between a and e
FILL = 0.70  # of the fleet at the 99.5th percentile of the need
FILL_QUANTILE = 0.995


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """c clusters. node_gb: (m,) memory of each node (GB of 1,000 MB) and its cluster; price: (c,) of memory; delay_s:
    (c, c) one way; peak_min: (c,) minute of the day at which each region's callers are most.
    """

    node_gb: FloatArray
    cluster_of: IntArray
    price: FloatArray
    delay_s: FloatArray
    peak_min: FloatArray

    @property
    def clusters(self) -> int:
        """How many."""
        return len(self.price)

    @property
    def room_gb(self) -> FloatArray:
        """Memory of each cluster with all its nodes, (c,)."""
        room: FloatArray = np.bincount(self.cluster_of, self.node_gb, self.clusters).astype(np.float64)
        return room

    @property
    def share(self) -> FloatArray:
        """Each cluster's share of the nodes, (c,)."""
        return np.bincount(self.cluster_of, minlength=self.clusters) / len(self.node_gb)

    def filled(self, need_gb: FloatArray) -> Fleet:
        """The fleet with node memory scaled by one factor, so that `FILL` of it is the stated quantile of the need."""
        wanted = float(np.quantile(need_gb, FILL_QUANTILE)) / FILL
        return replace(self, node_gb=self.node_gb * (wanted / self.node_gb.sum()))


def draw_fleet(node_mib: FloatArray, clusters: int, rng: np.random.Generator) -> Fleet:
    """The five clusters of the benchmark; for another number, its pattern repeated at random places."""
    pattern = np.arange(clusters) % len(NODES)
    sizes = np.array(NODES)[pattern]
    node_gb = rng.choice(node_mib, int(sizes.sum())) * 1024**2 / 1e9
    delay_s = np.array(DELAYS_MS) / 1000.0
    if clusters != len(NODES):
        delay_s = _random_delays(clusters, rng)
    price, peak = np.array(PRICES)[pattern], np.array(WAVE_PEAKS_MIN)[pattern]
    return Fleet(node_gb, np.repeat(np.arange(clusters), sizes), price, delay_s, peak)


def _random_delays(clusters: int, rng: np.random.Generator) -> FloatArray:
    """One-way delays between random points of a square, in proportion to the distance, (c, c)."""
    place = rng.random((clusters, 2))
    apart: FloatArray = np.linalg.norm(place[:, None] - place[None, :], axis=2)
    delay: FloatArray = np.maximum(INSIDE_MS, apart / np.sqrt(2.0) * FARTHEST_MS) / 1000.0
    return delay
