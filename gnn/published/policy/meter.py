"""What a placement costs at one moment, and added up over a run: the signal that a policy learns from.

Latency without running calls: the hops between clusters that a call is to expect, since a call goes to ready replicas
in proportion; the pools beyond one for each service, because a small pool waits longer at the same share busy; and
replicas that are missing. Failures without waiting for a gang to come: while no cluster holds one, those that would
come are counted by their rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba

from gnn.published.kernel.layout import (
    ALLOCATED,
    CHAINS,
    CLUSTERS,
    FAILURES,
    GANG_PODS,
    GANGS_FAILED,
    NODES,
    TIERS,
    State,
)
from gnn.published.world.jobs import GANG_CPU, GANG_GB

Array = Any

_MISSING = 3.0
"""A tier that has no replica for a call counts as so many hops."""

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def delay(state: Array) -> float:
    """Expected hops of a call and their like, by what is ready."""
    sim = state[0]
    total, calls = 0.0, 0.0
    for chain in range(CHAINS):
        calls += sim.rate[chain]
        cost = _of_chain(sim.ready, chain * TIERS, sim.count[CLUSTERS])
        for s in range(chain * TIERS, (chain + 1) * TIERS):
            cost += _MISSING * max(sim.wanted[s] - sim.ready[s].sum(), 0) / sim.wanted[s]
        total += sim.rate[chain] * cost
    return total / max(calls, 1e-9)


@compiled  # type: ignore[untyped-decorator]
def promised_delay(state: Array) -> float:
    """What is placed will mean the same, whatever is still missing."""
    sim = state[0]
    total, calls = 0.0, 0.0
    for chain in range(CHAINS):
        calls += sim.rate[chain]
        total += sim.rate[chain] * _of_chain(sim.placed, chain * TIERS, sim.count[CLUSTERS])
    return total / max(calls, 1e-9)


@compiled  # type: ignore[untyped-decorator]
def _of_chain(have: Array, first: int, clusters: int) -> float:
    """Hops between the tiers of one chain, and for each tier the part of it that pools beyond the first are."""
    cost = 0.0
    for s in range(first, first + TIERS):
        here = have[s, :clusters].sum()
        if here == 0:
            continue
        before = have[s - 1, :clusters].sum() if s > first else 0
        pools, together = 0, 0.0
        for k in range(clusters):
            pools += have[s, k] > 0
            if before > 0:
                together += have[s, k] / here * have[s - 1, k] / before
        cost += (pools - 1) / here
        if before > 0:
            cost += 1.0 - together
    return cost


@compiled  # type: ignore[untyped-decorator]
def gangs(state: Array) -> int:
    """Gangs that the cluster that holds most of them would hold."""
    sim = state[0]
    most = 0
    for k in range(sim.count[CLUSTERS]):
        slots = 0
        for n in range(sim.count[NODES]):
            if sim.cluster[n] == k:
                slots += min(sim.free_cpu[n] // GANG_CPU, sim.free_memory[n] // GANG_GB)
        most = max(most, slots // GANG_PODS)
    return most


@dataclass(frozen=True, slots=True)
class Reading:
    """Sums since the start: seconds, core-seconds allocated, seconds x expected hops, seconds in which no cluster held
    a gang, pods of batch that failed.
    """

    elapsed_s: float = 0.0
    allocated: float = 0.0
    hops: float = 0.0
    blocked_s: float = 0.0
    batch_failed: float = 0.0

    def later(self, state: State, hops: float, blocked: bool, seconds: float) -> Reading:
        """After so many seconds that began with these hops and this room."""
        books = state["books"][0]
        return Reading(
            self.elapsed_s + seconds,
            float(state["f"][0, ALLOCATED]),
            self.hops + hops * seconds,
            self.blocked_s + blocked * seconds,
            float(books[FAILURES] - GANG_PODS * books[GANGS_FAILED]),
        )
