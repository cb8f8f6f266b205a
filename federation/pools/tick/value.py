"""What each pool would be worth in each cluster: the factors of placement that speak about pools, all pools at once.

The names, scales and weights are those of `federation.placement` (0..1, higher is better, weights that sum to 1), so a
reason reads the same for a pool and for a workload, and a learned scorer's weights fit both. Left out are the factors
of node packing, which need one workload's shape; a pool is a few hundred MiB and its room is counted node by node. What
is warm there and need not move is no factor either: it says nothing about where one more instance belongs. Its weights
are the price of a move instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from federation.placement.factors.closeness import HALF_MS, NEUTRAL
from federation.pools.tick.sites import Sites
from prewarm.domain import FloatArray, IntArray
from prewarm.settings import Call, FactorWeights

POOL_FACTORS = ("fit", "network", "price", "headroom", "risk")
STAYING = ("warm", "steadiness")


def _no_edges() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Callers:
    """Who calls: rate (n, R) calls per second from each region; and e edges of the service graph between rows.

    caller, callee: (e,) rows. calls: (e,) a second. payload_kib: (e,).
    """

    regions: tuple[str, ...]
    rate: FloatArray
    caller: IntArray = field(default_factory=_no_edges)
    callee: IntArray = field(default_factory=_no_edges)
    calls: FloatArray = field(default_factory=lambda: np.zeros(0))
    payload_kib: FloatArray = field(default_factory=lambda: np.zeros(0))

    def with_graph(self, graph: Sequence[Call], rows: Mapping[str, int]) -> Callers:
        """With the edges of `graph` between known rows, each as busy as its caller's own calls make it."""
        known = [one for one in graph if one.caller in rows and one.callee in rows]
        caller = np.array([rows[one.caller] for one in known], dtype=np.int64)
        per_call = np.array([one.calls_per_invocation for one in known], dtype=np.float64)
        return Callers(
            regions=self.regions,
            rate=self.rate,
            caller=caller,
            callee=np.array([rows[one.callee] for one in known], dtype=np.int64),
            calls=self.rate.sum(axis=1)[caller] * per_call,
            payload_kib=np.array([one.payload_kib for one in known], dtype=np.float64),
        )


@dataclass(frozen=True, slots=True)
class Values:
    """total: (n, c). factors: by name, its weight and its values, which broadcast to (n, c).

    stay: what it is worth to an instance not to move, in the unit of `total`.
    """

    total: FloatArray
    stay: float
    factors: Mapping[str, tuple[float, FloatArray]]

    def of(self, row: int, column: int) -> list[tuple[str, float, float]]:
        """(name, value, weight) of one pool in one cluster."""
        shape = self.total.shape
        return [
            (name, float(np.broadcast_to(values, shape)[row, column]), weight)
            for name, (weight, values) in self.factors.items()
        ]


def pool_values(
    sites: Sites, callers: Callers, before: IntArray, *, held_mib: IntArray, weights: FactorWeights
) -> Values:
    """The values of all pools; before: (n, c) instances there now, held_mib: (c,) what the pools hold there."""
    room = sites.free + held_mib
    free = np.clip(sites.free / np.maximum(room, 1), 0.0, 1.0)
    found: dict[str, FloatArray] = {
        "fit": free[None, :],
        "network": network(sites, callers, before),
        "price": (1.0 / (1.0 + sites.price))[None, :],
        "headroom": np.clip(sites.free / np.maximum(sites.total, 1), 0.0, 1.0)[None, :],
        "risk": sites.risk[None, :],
    }
    told = {name: float(getattr(weights, name)) for name in (*POOL_FACTORS, *STAYING)}
    whole = sum(told.values())
    parts = {name: weight / whole if whole > 0 else 1.0 / len(told) for name, weight in told.items()}
    total = np.zeros(before.shape)
    for name in POOL_FACTORS:
        total += parts[name] * found[name]
    stay = sum(parts[name] for name in STAYING)
    return Values(total, stay, {name: (parts[name], found[name]) for name in POOL_FACTORS})


def network(sites: Sites, callers: Callers, before: IntArray) -> FloatArray:
    """Closeness to callers and callees weighted by calls, (n, c): the factor `network` of placement, for all pools.

    A region calls from its own delay; a caller or callee of the service graph is where its instances are now, in
    shares, and what it sends takes its time on the link.
    """
    weight = callers.rate.sum(axis=1)
    near = callers.rate @ closeness(sites.from_regions(callers.regions))
    shares = _shares(before)
    for payload_kib in np.unique(callers.payload_kib):
        edges = np.flatnonzero(callers.payload_kib == payload_kib)
        with np.errstate(invalid="ignore"):
            wire_ms = payload_kib * 8.192 / sites.bandwidth_mbps
        between = closeness(sites.delay_ms + np.where(np.isfinite(wire_ms), wire_ms, 0.0))
        calls = callers.calls[edges][:, None]
        for here, there, links in (
            (callers.callee[edges], callers.caller[edges], between),
            (callers.caller[edges], callers.callee[edges], between.T),
        ):
            np.add.at(near, here, calls * (shares[there] @ links))
            np.add.at(weight, here, calls[:, 0] * shares[there].sum(axis=1))
    some = weight[:, None] > 0
    return np.where(some, near / np.where(some, weight[:, None], 1.0), NEUTRAL)


def closeness(delay_ms: FloatArray) -> FloatArray:
    """1 / (1 + d / 50 ms), 1/2 where the delay is unknown."""
    return np.where(np.isfinite(delay_ms), 1.0 / (1.0 + delay_ms / HALF_MS), NEUTRAL)


def _shares(before: IntArray) -> FloatArray:
    """Where each pool's instances are, rows sum to 1, or to 0 where there are none."""
    shares: FloatArray = before / np.maximum(before.sum(axis=1, keepdims=True), 1)
    return shares
