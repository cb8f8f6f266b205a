"""What the planner of pools is asked and what it answers, as columns: n pools (rows) over c clusters (columns).

Amounts of memory are whole numbers of one unit (bytes or MiB, the same everywhere), so that sums are exact in any order
and a plan does not depend on the order of its rows. Ties are broken by seeds made of names, never by position: the same
pools and clusters in another order get the same plan in that order.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import BoolArray, FloatArray, InputError, Int32Array, IntArray

SeedArray = NDArray[np.uint64]
UNLIMITED = 2_000_000_000
TIE = 1e-9
"""Values closer than this count as equal; the seeds then decide."""


def seeds_of(names: Sequence[str]) -> SeedArray:
    """What breaks ties for each name, (n,)."""
    return np.array([zlib.crc32(name.encode()) for name in names], dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class PoolDemand:
    """The pools: instances wanted in all, memory of one instance, seed, and priority (higher is served first); (n,)."""

    wanted: IntArray
    size: IntArray
    seed: SeedArray
    priority: IntArray | None = None

    def __post_init__(self) -> None:
        if (self.wanted < 0).any():
            raise InputError("pools: instances wanted must be 0 or more")
        if (self.size < 0).any():
            raise InputError("pools: memory of an instance must be 0 or more")

    def __len__(self) -> int:
        return len(self.wanted)


@dataclass(frozen=True, slots=True)
class ClusterRoom:
    """Memory that pools may hold in each cluster, what they hold there now included; and seeds. (c,) each."""

    room: IntArray
    seed: SeedArray

    def __len__(self) -> int:
        return len(self.room)


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a pool may be and within which bounds; anything that broadcasts to (n, c).

    allowed: False where a filter or a person forbids it. least, most: instances there; `least` is a person's word, so
    the sum of a pool's least may exceed what is wanted, and then it holds.
    """

    allowed: BoolArray = field(default_factory=lambda: np.ones((1, 1), dtype=np.bool_))
    least: IntArray = field(default_factory=lambda: np.zeros((1, 1), dtype=np.int64))
    most: IntArray = field(default_factory=lambda: np.full((1, 1), UNLIMITED, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Preference:
    """What each pool likes: value (n, c), higher is better, and how evenly it spreads.

    temperature, broadcasts to (n,): 0 sends all to the best cluster while it has room; above that the shares go as
    exp(value / temperature). shares (n, c), where given, are wanted as they are (rows of zeros follow the value).
    """

    value: FloatArray
    temperature: FloatArray | float = 0.0
    shares: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How many instances may move for the better, beyond what the change of demand asks for.

    stay: what it is worth to an instance not to move, in value. anchor: (n, c) where pools count as being; None is
    where they were. A pool that had to leave its home and counts as being there returns as soon as it may.
    """

    moves: int = 0
    stay: float = 0.0
    anchor: IntArray | None = None


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """The answer. plan: (n, c) instances; wanted: (n,) with what people insist on; unplaced: (n,) fit nowhere.

    evicted: (n,) instances that had to leave a cluster which lost room or is not allowed any more. improved: (n,)
    instances that moved for the better. room_left, room_price: (c,) memory left, and what scarcity took off the value
    of a unit of it there. The question is kept, so that reasons can be given later.
    """

    plan: Int32Array
    before: Int32Array
    wanted: IntArray
    unplaced: IntArray
    evicted: IntArray
    improved: IntArray
    room_left: IntArray
    room_price: FloatArray
    pools: PoolDemand
    limits: Limits
    preference: Preference

    @property
    def moved(self) -> int:
        """Instances started plus instances let go, against the plan before."""
        return int(np.abs(self.plan.astype(np.int64) - self.before).sum())

    @property
    def change(self) -> int:
        """By how much the pools' totals were to change."""
        return int(np.abs(self.wanted - self.before.sum(axis=1)).sum())
