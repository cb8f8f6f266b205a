"""The world of `prewarm bench pools` (W9): thousands of pools over many clusters, with a plan already in place.

Demand over the pools goes as 1 / rank^1.1, 20 instances a pool on average and 1 at least; rooms are memory and sum to
1.2 times what the pools need, split by shares uniform in 0.5 to 1.5. The plan in place divides every pool in
proportion to the rooms, as far as they go, so it owes nothing to what is liked; then 5 % of the pools change by up to
20 %. How much a cluster is liked: calls come from regions in shares of their own (Dirichlet), delays follow from points
in a square, prices are uniform.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.pools.plan import plan_pools
from federation.pools.question import ClusterRoom, PoolDemand, Preference, seeds_of
from federation.pools.targets import round_exactly
from prewarm.domain import FloatArray, IntArray

EXPONENT, MEAN = 1.1, 20
SLACK = 1.2
CHANGED, BY = 0.05, 0.2
SIZES_MIB = np.array([128, 256, 512, 1024, 2048])
SIZE_SHARE = np.array([0.35, 0.3, 0.2, 0.1, 0.05])


@dataclass(frozen=True, slots=True)
class PoolWorld:
    """Pools before (`then`) and after the change (`now`), rooms, what is liked where, and the plan in place (n, c)."""

    then: PoolDemand
    now: PoolDemand
    clusters: ClusterRoom
    value: FloatArray
    in_place: IntArray

    @property
    def preference(self) -> Preference:
        """The values, all to the best."""
        return Preference(self.value)


def zipf_demand(pools: int, rng: np.random.Generator) -> IntArray:
    """Instances of each pool, (n,): 1 at least, `MEAN` on average exactly, falling as the rank's power, shuffled."""
    weight = 1 / np.arange(1, pools + 1) ** EXPONENT
    spare = np.array([(MEAN - 1) * pools], dtype=np.int64)
    extra = round_exactly(spare, (weight / weight.sum())[None, :], np.zeros((1, pools)))[0]
    demand: IntArray = rng.permutation(1 + extra)
    return demand


def make_world(pools: int, clusters: int, seed: int) -> PoolWorld:
    """The world of that size; everything follows from the seed."""
    rng = np.random.default_rng([seed, pools, clusters])
    demand = zipf_demand(pools, rng)
    size = rng.choice(SIZES_MIB, pools, p=SIZE_SHARE).astype(np.int64)
    part = rng.uniform(0.5, 1.5, clusters)
    room = np.ceil(SLACK * int(demand @ size) * part / part.sum()).astype(np.int64)
    names = seeds_of([f"team-{row % 40}/pool-{row}" for row in range(pools)])
    places = ClusterRoom(room, seeds_of([f"cluster-{column}" for column in range(clusters)]))
    then = PoolDemand(demand, size, names)
    even = Preference(np.zeros((1, 1)), shares=np.broadcast_to(room / room.sum(), (pools, clusters)))
    in_place = plan_pools(then, places, preference=even).plan.astype(np.int64)
    changed = demand.copy()
    rows = rng.choice(pools, round(CHANGED * pools), replace=False)
    changed[rows] = np.maximum(0, np.rint(changed[rows] * rng.uniform(1 - BY, 1 + BY, len(rows)))).astype(np.int64)
    value = _liking(pools, clusters, rng)
    return PoolWorld(then, PoolDemand(changed, size, names), places, value, in_place)


def _liking(pools: int, clusters: int, rng: np.random.Generator) -> FloatArray:
    """Closeness to the callers (0..1) plus half the cheapness (0..1), (n, c)."""
    points = rng.random((clusters, 2))
    delay_ms = 1 + 199 / np.sqrt(2) * np.linalg.norm(points[:, None] - points[None, :], axis=2)
    callers = rng.dirichlet(np.full(clusters, 1.5), pools)
    closeness = 1 - callers @ delay_ms / delay_ms.max()
    price = rng.uniform(0.8, 1.25, clusters)
    cheapness = (price.max() - price) / np.ptp(price) if clusters > 1 else np.ones(1)
    liking: FloatArray = closeness + 0.5 * cheapness[None, :]
    return liking
