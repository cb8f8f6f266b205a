"""What happens to the fleet during the day without anybody being told: lost nodes, and two prices that swap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.mix.world.fleet import Fleet
from prewarm.domain import FloatArray

LOST_SHARE = 0.30
LOST_MINUTES = 120


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """room_gb, price: (T, c), what holds in each minute; lost_at, swapped_at: the minutes of the two shocks."""

    room_gb: FloatArray
    price: FloatArray
    lost_at: int
    swapped_at: int


def draw_conditions(fleet: Fleet, minutes: int, first: int, rng: np.random.Generator) -> Conditions:
    """One loss and one swap at even chances over the minutes from `first` on; the loss ends within the day, the swap
    does not.
    """
    room = np.tile(fleet.room_gb, (minutes, 1))
    price = np.tile(fleet.price, (minutes, 1))
    lost_at = int(rng.integers(first, max(first + 1, minutes - LOST_MINUTES)))
    hit = int(rng.integers(fleet.clusters))
    nodes = np.flatnonzero(fleet.cluster_of == hit)
    gone = rng.choice(nodes, round(LOST_SHARE * len(nodes)), replace=False)
    room[lost_at : lost_at + LOST_MINUTES, hit] -= fleet.node_gb[gone].sum()
    swapped_at = int(rng.integers(first, minutes))
    one, other = rng.choice(fleet.clusters, 2, replace=False)
    price[swapped_at:, [one, other]] = price[swapped_at:, [other, one]]
    return Conditions(room, price, lost_at, swapped_at)
