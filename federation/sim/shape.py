"""The clusters of the embedded world as they are built: nodes, region, price, and the network between them.

Two in Europe and one in America, with room for a little under twice what the world's functions need at their busiest
minute, so that losing half of a cluster is felt and losing one node is not. All numbers are made up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.snapshot import Links

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """Nodes that are alike; `callers` is the region's share of all calls that is spread over its clusters."""

    name: str
    region: str
    nodes: int
    node_mib: int
    node_cpu_milli: int = 4_000
    node_pods: int = 110
    price: float = 1.0
    start_factor: float = 1.0
    """How many times as long as usual an instance takes to start there."""


CLUSTERS = (
    ClusterShape("eu-1", "eu", nodes=4, node_mib=10_240, price=1.0),
    ClusterShape("eu-2", "eu", nodes=3, node_mib=8_192, price=0.85, start_factor=1.3),
    ClusterShape("us-1", "us", nodes=4, node_mib=10_240, price=1.1),
)
LINKS = {("eu-1", "eu-2"): (9.0, 10_000.0), ("eu-1", "us-1"): (42.0, 2_000.0), ("eu-2", "us-1"): (47.0, 1_000.0)}
"""One-way delay in ms and bandwidth in Mbit/s."""
REGION_SHARE = {"eu": 0.6, "us": 0.4}


def links_of(clusters: tuple[ClusterShape, ...]) -> Links:
    """The network between these clusters; unknown where `LINKS` says nothing."""
    names = tuple(one.name for one in clusters)
    delay, bandwidth = np.full((len(names), len(names)), np.nan), np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(delay, 1.0)
    for (a, b), (delay_ms, mbps) in LINKS.items():
        if a in names and b in names:
            here, there = names.index(a), names.index(b)
            delay[[here, there], [there, here]] = delay_ms
            bandwidth[[here, there], [there, here]] = mbps
    return Links(names, delay, bandwidth)
