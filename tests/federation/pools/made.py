"""Questions for the planner of pools, small ones by hand and drawn ones for properties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from federation.pools.plan import plan_pools
from federation.pools.question import ClusterRoom, Limits, PoolDemand, PoolPlan, Preference, Steadiness, seeds_of
from prewarm.domain import FloatArray, IntArray


def ints(values: Sequence[object]) -> IntArray:
    """A column or a table of whole numbers."""
    return np.array(values, dtype=np.int64)


def demand(wanted: Sequence[int], size: Sequence[int] | int = 1, priority: Sequence[int] | None = None) -> PoolDemand:
    """Pools p0, p1, ... that want so many instances of this memory."""
    sizes = [size] * len(wanted) if isinstance(size, int) else list(size)
    names = seeds_of([f"shop/p{row}" for row in range(len(wanted))])
    return PoolDemand(ints(wanted), ints(sizes), names, None if priority is None else ints(priority))


def rooms(room: Sequence[int]) -> ClusterRoom:
    """Clusters c0, c1, ... of this memory."""
    return ClusterRoom(ints(room), seeds_of([f"c{column}" for column in range(len(room))]))


def liking(*rows: Sequence[float]) -> Preference:
    """Values by pool and cluster, all to the best."""
    return Preference(np.array(rows, dtype=np.float64))


class Drawn:
    """One question, with a plan that was made for another demand and other rooms."""

    def __init__(self, seed: int, pools: int, clusters: int, tightness: float) -> None:
        rng = np.random.default_rng(seed)
        self.pools, self.clusters = pools, clusters
        size = rng.choice([1, 2, 3, 5], pools).astype(np.int64)
        first = rng.integers(0, 9, pools)
        self.second = np.where(rng.random(pools) < 0.4, rng.integers(0, 9, pools), first)
        self.value: FloatArray = np.round(rng.random((pools, clusters)), 1)
        self.allowed = rng.random((pools, clusters)) < 0.8
        self.temperature = float(rng.choice([0.0, 0.2, 1.0]))
        total = int(max(first @ size, self.second @ size))
        room = rng.multinomial(int(total * tightness) + clusters, np.full(clusters, 1 / clusters))
        self.names = seeds_of([f"team/f{row}" for row in range(pools)])
        self.where = ClusterRoom(room.astype(np.int64), seeds_of([f"c{column}" for column in range(clusters)]))
        self.then = PoolDemand(first.astype(np.int64), size, self.names)
        self.now = PoolDemand(self.second.astype(np.int64), size, self.names)
        self.limits = Limits(allowed=self.allowed)

    def plan(
        self, pools: PoolDemand, previous: IntArray | None = None, *, moves: int = 0, where: ClusterRoom | None = None
    ) -> PoolPlan:
        """The planner's answer."""
        return plan_pools(
            pools,
            where or self.where,
            preference=Preference(self.value, self.temperature),
            limits=self.limits,
            previous=previous,
            steadiness=Steadiness(moves=moves),
        )


def drawn() -> st.SearchStrategy[Drawn]:
    """Questions of 1 to 12 pools over 1 to 5 clusters, from too little room to plenty."""
    return st.builds(
        Drawn,
        st.integers(0, 2**31),
        st.integers(1, 12),
        st.integers(1, 5),
        st.floats(0.3, 2.0, allow_nan=False),
    )
