"""A look ahead, exact where it can be: which chains should be at home in the small cluster, and what room is left.

Every core that is free in the small cluster is lost to gangs, which fit the large one only when there is much of it in
one piece; so the small one should be filled to the brim. But what fills it must not grow: a chain that lacks one core
at home gets a lone replica in the other cluster, which serves a share of all its calls alone and behind a hop. So the
plan chooses whole chains as large as they will become, fills up with part of one chain's last tier, and leaves the
cores that grown chains will ask for to them.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.published.kernel.layout import CHAINS, CLUSTERS, NODES, SERVICES, TIERS, WAITING_JOBS
from gnn.published.kernel.replicas import SERVICE_S, TARGET_BUSY

Array = Any

GROWTH = 0.25
"""Replicas that a service's most of a minute is above its mean need: what ten seconds of counting wander by."""
LEAST_PART = 2
"""Fewer replicas of a tier are not put apart."""
QUEUE = 3
"""From so many waiting jobs on nothing is kept for growth, because it would not last."""
_OVER, _SPILLED = 100.0, 10.0

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def free_cores(sim: Array) -> Array:
    """Free cores by cluster (c,)."""
    free = np.zeros(sim.count[CLUSTERS])
    for n in range(sim.count[NODES]):
        free[sim.cluster[n]] += sim.free_cpu[n]
    return free


@compiled  # type: ignore[untyped-decorator]
def small_cluster(sim: Array) -> int:
    """The one with fewest cores that are there."""
    cores = np.zeros(sim.count[CLUSTERS])
    for n in range(sim.count[NODES]):
        cores[sim.cluster[n]] += sim.cpu[n] * sim.alive[n]
    return int(np.argmin(cores))


@compiled  # type: ignore[untyped-decorator]
def lacking(sim: Array) -> Array:
    """Replicas that each chain still lacks to be as large as it will become, (CHAINS,)."""
    margin = 0.0 if sim.i[WAITING_JOBS] >= QUEUE else GROWTH
    out = np.zeros(CHAINS)
    for s in range(SERVICES):
        grown = np.ceil(sim.rate[s // TIERS] * SERVICE_S / TARGET_BUSY + margin)
        out[s // TIERS] += max(max(grown, sim.wanted[s]) - sim.placed[s].sum(), 0.0)
    return out


@compiled  # type: ignore[untyped-decorator]
def homes(sim: Array) -> Array:
    """The cluster that has most of each chain, (CHAINS,), -1 where none has any."""
    out = np.full(CHAINS, -1)
    for chain in range(CHAINS):
        have = np.zeros(sim.count[CLUSTERS])
        for tier in range(TIERS):
            for k in range(have.size):
                have[k] += sim.placed[chain * TIERS + tier, k]
        if have.sum() > 0:
            out[chain] = np.argmax(have)
    return out


@compiled  # type: ignore[untyped-decorator]
def planned_homes(sim: Array, small: int) -> tuple[Array, float]:
    """The best home of each chain, those that have one at it, and the cores then left over in the small cluster."""
    free, lack, home = free_cores(sim), lacking(sim), homes(sim)
    best, at, over = np.inf, 0, 0.0
    for choice in range(1 << CHAINS):
        left, rest, fits = free[small], free.sum() - free[small], True
        for chain in range(CHAINS):
            here = bool((choice >> chain) & 1)
            fits = fits and (home[chain] < 0 or here == (home[chain] == small))
            if here:
                left -= lack[chain]
            else:
                rest -= lack[chain]
        cost = left if left >= 0 else _OVER - _SPILLED * left
        cost += 0.0 if rest >= 0 else _OVER - _SPILLED * rest
        if fits and cost < best:
            best, at, over = cost, choice, left
    for chain in range(CHAINS):
        home[chain] = small if (at >> chain) & 1 else 1 - small
    return home, over


@compiled  # type: ignore[untyped-decorator]
def planned(sim: Array, service: int) -> int:
    """The cluster where the room plan puts the next replica of a service; of two clusters."""
    small = small_cluster(sim)
    home, over = planned_homes(sim, small)
    chain = service // TIERS
    if home[chain] == small or service % TIERS < TIERS - 1 or over < 1.0:
        return int(home[chain])
    least, apart = np.inf, -1
    for other in range(CHAINS):
        if home[other] != small and sim.rate[other] < least:
            least, apart = sim.rate[other], other
    if apart == chain and sim.placed[service, small] + over >= LEAST_PART:
        return int(small)
    return int(home[chain])


@compiled  # type: ignore[untyped-decorator]
def room_to_grow(sim: Array) -> Array:
    """Free cores (c,) that the chains at home there will not ask for; below 0 where they lack some."""
    left, lack, home = free_cores(sim), lacking(sim), homes(sim)
    for chain in range(CHAINS):
        if home[chain] >= 0:
            left[home[chain]] -= lack[chain]
    return left
