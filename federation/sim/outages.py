"""When nodes and whole clusters of the embedded world are lost: a pure function of seed and time.

Now and then a cluster loses some of its nodes for half an hour or so, and once in two days one does not answer at all
for some minutes. A day is drawn at once from (seed, day), so nothing has to be remembered and a restart just goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DAY_S = 86_400
NODE_LOSSES_A_DAY = 4.0
DARK_CHANCE = 0.5


@dataclass(frozen=True, slots=True)
class Outage:
    """From `start` to `end` (s since the epoch) cluster number `cluster` lacks `nodes`, or is dark (None)."""

    cluster: int
    nodes: int | None
    start: float
    end: float


def outages_of(seed: int, day: int, nodes: tuple[int, ...]) -> tuple[Outage, ...]:
    """What happens on `day` (days since the epoch) to clusters of so many nodes; all of it ends within the day."""
    rng = np.random.default_rng([seed, 3, day])
    found = []
    for _ in range(rng.poisson(NODE_LOSSES_A_DAY)):
        cluster = int(rng.integers(len(nodes)))
        lost = int(rng.integers(1, nodes[cluster])) if nodes[cluster] > 1 else 1
        found.append(_within(rng, cluster, lost, day, minutes=(15, 60)))
    if rng.random() < DARK_CHANCE:
        found.append(_within(rng, int(rng.integers(len(nodes))), None, day, minutes=(8, 25)))
    return tuple(sorted(found, key=lambda one: one.start))


def lost_nodes(outages: tuple[Outage, ...], nodes: tuple[int, ...], now: float) -> tuple[int, ...]:
    """Nodes that each cluster lacks at `now`, all of them where it is dark."""
    lost = [0] * len(nodes)
    for one in outages:
        if one.start <= now < one.end:
            lost[one.cluster] += nodes[one.cluster] if one.nodes is None else one.nodes
    return tuple(min(count, whole) for count, whole in zip(lost, nodes, strict=True))


def dark_since(outages: tuple[Outage, ...], cluster: int, now: float) -> float | None:
    """Since when a cluster does not answer, None where it does."""
    starts = [
        one.start for one in outages if one.cluster == cluster and one.nodes is None and one.start <= now < one.end
    ]
    return min(starts, default=None)


def _within(rng: np.random.Generator, cluster: int, nodes: int | None, day: int, *, minutes: tuple[int, int]) -> Outage:
    lasts = float(rng.integers(*minutes)) * 60
    start = day * DAY_S + float(rng.integers(0, int(DAY_S - lasts) // 60)) * 60
    return Outage(cluster, nodes, start, start + lasts)
