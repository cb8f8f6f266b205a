"""The calls: each walks the three tiers of its chain, waits where all replicas are busy, and is timed to the end.

A call goes to a cluster with a chance in proportion to the service's ready replicas there, as endpoints are picked when
nobody prefers the near ones; it enters where its first tier is, travels the delay between clusters for each further
tier, and then waits in one line of that service in that cluster. A call that is a second old and has not been taken up
is given up; it counts as a second, as does one that took longer.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.published.kernel.heap import drop_first, push, uniform
from gnn.published.kernel.layout import (
    BEGUN,
    BIN_S,
    BINS,
    CHAINS,
    CLUSTERS_AT_MOST,
    CROSSED,
    ENDS,
    FINISHED,
    HOP_RING,
    HOPS,
    LATE,
    LINE,
    NEXT,
    SECONDS,
    SERVICE_PARTS,
    TIERS,
    TIME,
    TIME_OUT_S,
    UNUSED,
    WAITED,
)

Array = Any

_GAP, _SERVICE, _WAY = 101, 1, 11
_END, _HOP = CHAINS, CHAINS + 1

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def serve_until(sim: Array, until: float) -> None:
    """Run all calls up to a time."""
    while True:
        at, what = _next(sim)
        if at > until:
            break
        sim.cf[TIME] = at
        if what < CHAINS:
            _begin(sim, what, at)
        elif what == _END:
            _finish(sim, at)
        else:
            _land(sim, what - _HOP, at)
    sim.cf[TIME] = until


@compiled  # type: ignore[untyped-decorator]
def _next(sim: Array) -> tuple[float, int]:
    at, what = np.inf, -1
    for chain in range(CHAINS):
        if sim.cf[NEXT + chain] < at:
            at, what = sim.cf[NEXT + chain], chain
    if sim.cn[ENDS] > 0 and sim.end_at[0] < at:
        at, what = sim.end_at[0], _END
    for ring in range(2):
        head = sim.cn[HOPS + 2 * ring]
        if head < sim.cn[HOPS + 2 * ring + 1] and sim.hop_at[ring, head & (HOP_RING - 1)] < at:
            at, what = sim.hop_at[ring, head & (HOP_RING - 1)], _HOP + ring
    return at, what


@compiled  # type: ignore[untyped-decorator]
def arm(sim: Array, chain: int, at: float) -> None:
    """Draw the next arrival of a chain after `at`, at its present rate."""
    if sim.rate[chain] <= 0.0:
        sim.cf[NEXT + chain] = np.inf
        return
    share = uniform(sim.seed[0], sim.cn[BEGUN + chain] * CHAINS + chain, _GAP)
    sim.cf[NEXT + chain] = at - np.log(1.0 - share) / sim.rate[chain]


@compiled  # type: ignore[untyped-decorator]
def _begin(sim: Array, chain: int, at: float) -> None:
    sim.cn[UNUSED] -= 1
    slot = sim.free[sim.cn[UNUSED]]
    sim.call_start[slot] = at
    sim.number[slot] = sim.cn[BEGUN + chain] * CHAINS + chain
    sim.cn[BEGUN + chain] += 1
    arm(sim, chain, at)
    sim.where[slot, 0], sim.where[slot, 1] = chain, 0
    service = chain * TIERS
    sim.where[slot, 2] = _way(sim, slot, service, 0)
    _join(sim, slot, at)


@compiled  # type: ignore[untyped-decorator]
def _way(sim: Array, slot: int, service: int, here: int) -> int:
    """The cluster that a call of `service` goes to; `here` where nobody is ready."""
    total = 0
    for k in range(CLUSTERS_AT_MOST):
        total += sim.ready[service, k]
    if total == 0:
        return here
    left = uniform(sim.seed[0], sim.number[slot], _WAY + sim.where[slot, 1]) * total
    for k in range(CLUSTERS_AT_MOST):
        left -= sim.ready[service, k]
        if left < 0.0:
            return k
    return here


@compiled  # type: ignore[untyped-decorator]
def _join(sim: Array, slot: int, at: float) -> None:
    service, k = sim.where[slot, 0] * TIERS + sim.where[slot, 1], sim.where[slot, 2]
    if sim.busy[service, k] < sim.ready[service, k]:
        _take_up(sim, slot, service, at)
        return
    head, tail = sim.ends[service, k, 0], sim.ends[service, k, 1]
    while head < tail and at - sim.call_start[sim.queue[service, k, head & (LINE - 1)]] >= TIME_OUT_S:
        _give_up(sim, sim.queue[service, k, head & (LINE - 1)])
        head += 1
    sim.ends[service, k, 0] = head
    sim.queue[service, k, tail & (LINE - 1)] = slot
    sim.ends[service, k, 1] = tail + 1
    sim.cn[WAITED] += 1


@compiled  # type: ignore[untyped-decorator]
def _take_up(sim: Array, slot: int, service: int, at: float) -> None:
    count_busy(sim, service, at)
    sim.busy[service, sim.where[slot, 2]] += 1
    share = uniform(sim.seed[0], sim.number[slot], _SERVICE + sim.where[slot, 1])
    end = at + sim.service_table[int(share * SERVICE_PARTS)]
    sim.cn[ENDS] = push(sim.end_at, sim.end_slot, sim.cn[ENDS], end, slot)


@compiled  # type: ignore[untyped-decorator]
def count_busy(sim: Array, service: int, at: float) -> None:
    """Add the busy seconds of a service since it was last looked at."""
    busy = 0
    for k in range(CLUSTERS_AT_MOST):
        busy += sim.busy[service, k]
    sim.busy_area[service] += busy * (at - sim.seen[service])
    sim.seen[service] = at


@compiled  # type: ignore[untyped-decorator]
def _finish(sim: Array, at: float) -> None:
    slot = sim.end_slot[0]
    sim.cn[ENDS] = drop_first(sim.end_at, sim.end_slot, sim.cn[ENDS])
    chain, tier, k = sim.where[slot, 0], sim.where[slot, 1], sim.where[slot, 2]
    service = chain * TIERS + tier
    count_busy(sim, service, at)
    sim.busy[service, k] -= 1
    _next_in_line(sim, service, k, at)
    if tier == TIERS - 1:
        _record(sim, slot, at - sim.call_start[slot])
        sim.cn[FINISHED] += 1
        return
    sim.where[slot, 1] = tier + 1
    there = _way(sim, slot, service + 1, k)
    sim.where[slot, 2] = there
    ring = 0 if there == k else 1
    sim.cn[CROSSED] += ring
    tail = sim.cn[HOPS + 2 * ring + 1]
    sim.hop_at[ring, tail & (HOP_RING - 1)] = at + sim.delay_s[k, there]
    sim.hop_slot[ring, tail & (HOP_RING - 1)] = slot
    sim.cn[HOPS + 2 * ring + 1] = tail + 1


@compiled  # type: ignore[untyped-decorator]
def _land(sim: Array, ring: int, at: float) -> None:
    head = sim.cn[HOPS + 2 * ring]
    sim.cn[HOPS + 2 * ring] = head + 1
    _join(sim, sim.hop_slot[ring, head & (HOP_RING - 1)], at)


@compiled  # type: ignore[untyped-decorator]
def _next_in_line(sim: Array, service: int, k: int, at: float) -> None:
    while sim.busy[service, k] < sim.ready[service, k] and sim.ends[service, k, 0] < sim.ends[service, k, 1]:
        slot = sim.queue[service, k, sim.ends[service, k, 0] & (LINE - 1)]
        sim.ends[service, k, 0] += 1
        if at - sim.call_start[slot] >= TIME_OUT_S:
            _give_up(sim, slot)
        else:
            _take_up(sim, slot, service, at)


@compiled  # type: ignore[untyped-decorator]
def _give_up(sim: Array, slot: int) -> None:
    sim.cn[LATE] += 1
    _record(sim, slot, TIME_OUT_S)


@compiled  # type: ignore[untyped-decorator]
def _record(sim: Array, slot: int, latency_s: float) -> None:
    second = min(int(sim.call_start[slot]), SECONDS - 1)
    sim.histogram[second, min(int(latency_s / BIN_S), BINS - 1)] += 1
    sim.free[sim.cn[UNUSED]] = slot
    sim.cn[UNUSED] += 1


@compiled  # type: ignore[untyped-decorator]
def settle(sim: Array, service: int, at: float) -> None:
    """After a change of ready replicas: take up what waits; a line where nobody is left moves to who is."""
    best = int(np.argmax(sim.ready[service]))
    for k in range(CLUSTERS_AT_MOST):
        if sim.ready[service, k] == 0 and sim.ready[service, best] > 0:
            while sim.ends[service, k, 0] < sim.ends[service, k, 1]:
                slot = sim.queue[service, k, sim.ends[service, k, 0] & (LINE - 1)]
                sim.ends[service, k, 0] += 1
                sim.where[slot, 2] = best
                _join(sim, slot, at)
    for k in range(CLUSTERS_AT_MOST):
        _next_in_line(sim, service, k, at)
