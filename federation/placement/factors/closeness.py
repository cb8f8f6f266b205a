"""The network factor: how near a cluster is to those who call the workload and to what it calls."""

from __future__ import annotations

import numpy as np

from federation.placement.filters.case import Case
from prewarm.domain import FloatArray, IntArray

HALF_MS = 50.0
"""Delay at which closeness is a half."""
NEUTRAL = 0.5
"""Closeness over a link that nobody knows."""
_WITHOUT_RATE = 1.0
"""Calls per second of a workload whose demand is unknown; only the ratio to its callers' rates matters."""


def network(case: Case) -> FloatArray:
    """sum of w_k / (1 + d_k / 50 ms) over sum of w_k, over callers and callees k; 1/2 where there are none.

    w: calls per second. d: one-way delay from the caller, or to the nearest cluster in which the callee runs plus the
    time that its payload takes on that link. An unknown d counts as 1/2.
    """
    closeness = np.zeros(len(case.fleet))
    weight = 0.0
    for rate, delay_ms in [*_callers(case), *_callees(case)]:
        closeness += rate * np.where(np.isfinite(delay_ms), 1.0 / (1.0 + delay_ms / HALF_MS), NEUTRAL)
        weight += rate
    return closeness / weight if weight > 0 else np.full(len(case.fleet), NEUTRAL)


def _callers(case: Case) -> list[tuple[float, FloatArray]]:
    """Calls per second and delay from each caller: those that the workload names, else the service graph's."""
    net, found = case.fleet.network, []
    unknown = np.full(len(case.fleet), np.nan)
    for caller in case.workload.callers:
        if caller.cluster is not None:
            at = case.fleet.position.get(caller.cluster)
            delay_ms = unknown if at is None else net.delay_ms[at]
        else:
            delay_ms = net.from_region.get(caller.region or "", unknown)
        found.append((caller.calls_per_s, delay_ms))
    if found:
        return found
    for call in net.callers.get(case.workload.key, ()):
        there = _runs(case, call.caller)
        if there.any():
            share = there / there.sum()
            known = np.where(np.isfinite(net.delay_ms), net.delay_ms, 0.0)
            certain = np.isfinite(net.delay_ms[there > 0]).all(axis=0)
            found.append((_rate(case), np.where(certain, share @ known, np.nan)))
    return found


def _callees(case: Case) -> list[tuple[float, FloatArray]]:
    """Calls per second and delay to the nearest instance of each callee, those that run nowhere left out."""
    own = [(one.key, one.calls_per_invocation, one.payload_kib) for one in case.workload.calls]
    if not own:
        graph = case.fleet.network.callees.get(case.workload.key, ())
        own = [(one.callee, one.calls_per_invocation, one.payload_kib) for one in graph]
    found = []
    for key, calls, payload_kib in own:
        there = np.flatnonzero(_runs(case, key))
        if there.size and calls > 0:
            found.append((_rate(case) * calls, _nearest(case, there, payload_kib)))
    return found


def _nearest(case: Case, there: IntArray, payload_kib: float) -> FloatArray:
    """Delay to the nearest of some clusters, the payload's time on the wire included where its bandwidth is known."""
    net = case.fleet.network
    wire_ms = payload_kib * 8.192 / net.bandwidth_mbps[:, there]
    delay_ms: FloatArray = net.delay_ms[:, there] + np.where(np.isfinite(wire_ms), wire_ms, 0.0)
    nearest: FloatArray = np.fmin.reduce(delay_ms, axis=1)
    return nearest


def _runs(case: Case, key: str) -> FloatArray:
    """Instances of another workload in each cluster."""
    here = [one.running.get(key) for one in case.fleet.clusters]
    return np.array([0 if one is None else one.existing for one in here], dtype=np.float64)


def _rate(case: Case) -> float:
    demand = case.workload.demand_per_s
    if demand is not None:
        return demand
    return sum(caller.calls_per_s for caller in case.workload.callers) or _WITHOUT_RATE
