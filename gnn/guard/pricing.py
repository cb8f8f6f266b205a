"""What a placement costs, whoever chose it, read off the fleet as it turned out to be a while later.

The price is not the weighted score: by that the rule could only win, since it chooses by it. It is what the published
serverless mix counts (benchmarks W11): instances to start, memory held at each cluster's price, delay of the callers,
and instances that have no place. A cluster that went dark meanwhile holds none. So the answer that was not carried out
is judged by the same facts as the one that was, as far as the choice itself did not change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from federation.placement.workload import Workload
from federation.snapshot import MemberState, Snapshot
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, FloatArray, IntArray

MISSING_PER_MIN = 10.0
_FAR_MS = 200.0
"""Stands in for a delay that nobody knows."""


@dataclass(frozen=True, slots=True)
class Prices:
    """In the unit of a cold start's cost. horizon_s: what is held and delayed is counted over this long."""

    delay_per_s: float = 3.0
    cold: float = COLD_COST
    idle_per_gb_s: float = IDLE_COST_PER_GB_S
    missing_per_min: float = MISSING_PER_MIN
    horizon_s: float = 600.0


def shares(worth: FloatArray, room: FloatArray, replicas: int, *, temperature: float) -> IntArray:
    """Instances by cluster (c,): best first with overflow at temperature 0, else by softmax shares; within the room.

    The placement divides with more rules (what is there already, spreading, limits); both sides of a pair are divided
    by this one, so what it leaves out is left out of both.
    """
    free, left = np.floor(np.maximum(room, 0.0)), float(replicas)
    order = np.argsort(-worth, kind="stable")
    out = np.zeros(len(worth))
    if temperature > 0 and len(worth):
        part = np.exp((worth - worth.max()) / temperature)
        out = np.minimum(np.floor(replicas * part / part.sum()), free)
        left -= out.sum()
    for at in order.tolist():
        more = min(left, free[at] - out[at])
        out[at] += more
        left -= more
    return out.astype(np.int64)


def cost(
    placed: Mapping[str, int], workload: Workload, *, before: Mapping[str, int], seen: Snapshot, by: Prices
) -> float:
    """Of instances by cluster in the fleet as it is seen now. before: instances that ran when it was decided."""
    clusters = {one.name: one for one in seen.clusters}
    alive = {
        name: count
        for name, count in placed.items()
        if name in clusters and clusters[name].state is not MemberState.DARK and count > 0
    }
    gb = workload.requests.get("memory", 0) / 1e9
    missing = workload.replicas - sum(alive.values())
    starts = sum(max(0, count - before.get(name, 0)) for name, count in alive.items())
    held = sum(count * max(clusters[name].price, 0.0) for name, count in alive.items()) * gb * by.horizon_s
    return (
        by.cold * starts
        + by.idle_per_gb_s * held
        + by.delay_per_s * _delay_s(alive, workload, seen) * by.horizon_s
        + by.missing_per_min * max(missing, 0) * by.horizon_s / 60.0
    )


def difference(rule: float, learned: float) -> float:
    """Of two costs, relative to their mean: within -2..2, above 0 where the learned one is cheaper."""
    middle = (abs(rule) + abs(learned)) / 2.0
    return 0.0 if middle <= 0 else (rule - learned) / middle


def _delay_s(alive: Mapping[str, int], workload: Workload, seen: Snapshot) -> float:
    """Summed one-way delay of all calls in a second, each to the instances in proportion."""
    total = sum(alive.values())
    if not total:
        return 0.0
    region = {one.name: one.region for one in seen.clusters}
    at = {name: row for row, name in enumerate(seen.links.names)}
    spent = 0.0
    for caller in workload.callers:
        origins = [at[n] for n in at if caller.cluster == n or (caller.region and region.get(n) == caller.region)]
        if not origins:
            continue
        for name, count in alive.items():
            ways = seen.links.delay_ms[origins, at[name]] if name in at else np.array([_FAR_MS])
            known = ways[np.isfinite(ways)]
            here = name in (seen.links.names[row] for row in origins)
            delay = 0.0 if here else float(known.mean()) if len(known) else _FAR_MS
            spent += caller.calls_per_s * delay / 1e3 * count / total
    return spent
