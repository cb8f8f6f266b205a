"""What a placement is worth in the service's own world: room paid for, delay of calls, evenness, and what was refused.

How much paying and waiting count differs from workload to workload: by the price of its room and by its calls. So one
fixed weighting cannot be right for all, and a policy that reads the workload has something to find.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.placement.workload import Workload
from federation.snapshot import Snapshot
from gnn.fleet.draw import GIB
from gnn.reward import Goals, Outcome, fairness, reward
from prewarm.domain import FloatArray, IntArray

DELAY_PRICE = 4.0
"""A second of delay of one call, in seconds of one core with 4 GiB at the usual price."""
MOST_MS = 60.0
"""Mean delay of a workload's calls that counts as 1."""
MOVE_S, STAY_S = 300.0, 1_800.0
"""An instance that moves is paid twice for so long; the price of a move is this share of what it costs to stay."""
FAIRNESS = 0.125
REFUSED = 1.0
"""Of the score, for a whole workload that found no place."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What was decided. before, after: (C,) instances. loads: (C,) of the clusters afterwards."""

    workload: Workload
    before: IntArray
    after: IntArray
    loads: FloatArray


@dataclass(frozen=True, slots=True)
class Judged:
    """goals: the reward without violations. violation: share of the instances that found no place. paid: price over
    the usual one, delay_ms: of its calls, NaN where it has none.
    """

    goals: float
    violation: float
    paid: float
    delay_ms: float
    fairness: float

    @property
    def score(self) -> float:
        """Goals less what was refused."""
        return self.goals - REFUSED * self.violation


def outcome(deed: Deed, snapshot: Snapshot) -> Judged:
    """The worth of a deed; `snapshot` is the fleet that it was decided on."""
    placed = int(deed.after.sum())
    violation = 1.0 - min(placed / max(deed.workload.replicas, 1), 1.0)
    even = fairness(deed.loads)
    if not placed:
        return Judged(0.0, violation, float("nan"), float("nan"), even)
    prices = np.array([one.price for one in snapshot.clusters])
    paid = _paid(deed, prices)
    delay_ms = mean_delay_ms(deed.workload, deed.after, snapshot)
    known = 0.0 if np.isnan(delay_ms) else delay_ms
    told = Outcome(min(float(prices.min()) / paid, 1.0), min(known / MOST_MS, 1.0), even)
    goals = reward(told, goals_of(deed.workload))
    return Judged((1.0 - violation) * goals, violation, paid, delay_ms, even)


def goals_of(workload: Workload) -> Goals:
    """The weights of its goals: room by its price, calls by the price of their delay, together 1."""
    room = workload.replicas * size_of(workload)
    calls = DELAY_PRICE * (workload.demand_per_s or 0.0) * MOST_MS / 1e3
    return Goals(room / (room + calls), calls / (room + calls), FAIRNESS)


def size_of(workload: Workload) -> float:
    """One instance in units of one core with 4 GiB."""
    return (workload.requests["cpu"] / 1e3 + workload.requests["memory"] / (4 * GIB)) / 2


def _paid(deed: Deed, prices: FloatArray) -> float:
    """Price of an instance, mean over those placed, moves included."""
    moved = min(np.maximum(deed.before - deed.after, 0).sum(), np.maximum(deed.after - deed.before, 0).sum())
    share = deed.after / deed.after.sum()
    return float(share @ prices) * (1.0 + MOVE_S / STAY_S * float(moved) / float(deed.after.sum()))


def mean_delay_ms(workload: Workload, counts: IntArray, snapshot: Snapshot) -> float:
    """Mean one-way delay of the calls to it and from it, where their other end is known; NaN without such calls."""
    share = counts / max(int(counts.sum()), 1)
    delay = _delays(snapshot)
    total = weight = 0.0
    for rate, each_ms in _ends(workload, snapshot, delay):
        total += rate * float(share @ each_ms)
        weight += rate
    return total / weight if weight > 0 else float("nan")


def _delays(snapshot: Snapshot) -> FloatArray:
    """(C, C), the mean of the known where one is unknown: a call takes its time whether it was measured or not."""
    delay = snapshot.links.delay_ms
    known = float(np.nanmean(delay))
    return np.where(np.isnan(delay), known, delay)


def _ends(workload: Workload, snapshot: Snapshot, delay: FloatArray) -> list[tuple[float, FloatArray]]:
    """Calls a second and the delay to each cluster, (C,), by caller and callee."""
    found = []
    regions = [one.region for one in snapshot.clusters]
    for caller in workload.callers:
        at = [row for row, region in enumerate(regions) if region == caller.region]
        found.append((caller.calls_per_s, delay[at].mean(axis=0)))
    rate = workload.demand_per_s or 0.0
    for call in snapshot.calls:
        if call.callee == workload.key:
            there = _running(snapshot, call.caller)
            if there.any():
                found.append((rate, (there / there.sum()) @ delay))
        elif call.caller == workload.key:
            there = _running(snapshot, call.callee)
            if there.any():
                found.append((rate * call.calls_per_invocation, delay[:, there > 0].min(axis=1)))
    return found


def _running(snapshot: Snapshot, key: str) -> IntArray:
    found = [one.running.get(key) for one in snapshot.clusters]
    return np.array([0 if one is None else one.existing for one in found], np.int64)
