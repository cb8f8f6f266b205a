"""Demand for the web services: how often each chain is called, when, and how many cores that asks for.

Four chains of three tiers; every call walks its chain once. The chains' shares of the calls are drawn by the seed
(uniform in 0.5 to 1.5, then normalised), so that their replica numbers do not all step at the same load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray

CHAINS, TIERS = 4, 3
SERVICES = CHAINS * TIERS
REPLICA_CPU, REPLICA_GB = 1, 2
SERVICE_S, SERVICE_CV = 0.007, 0.8
TARGET_BUSY = 0.7
HOLD_S, WINDOW_S, TICK_S = 60.0, 10.0, 2.0
BURST_EVERY_S, BURST_S, BURST_FACTOR, FIRST_BURST_S = 600.0, 60.0, 1.5, 300.0
_ROUNDING = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class WebPlan:
    """Calls a second by chain: `rates` (k, CHAINS) hold from `since_s` (k,) on, the first from 0."""

    since_s: FloatArray
    rates: FloatArray


def base_rates(cores: float, shares: FloatArray) -> FloatArray:
    """Calls a second of each chain (CHAINS,) for which the replica rule asks for `cores` on average.

    A service that is busy m asks for ceil(m / 0.7), half a core more than m / 0.7 on average, and a burst keeps half as
    much again of one chain in four for its 60 s and the 60 s that the rule holds on.
    """
    bursts = 1.0 + (BURST_FACTOR - 1.0) * (BURST_S + HOLD_S) / BURST_EVERY_S / CHAINS
    busy = max(cores - _ROUNDING * SERVICES, 0.0) * TARGET_BUSY / bursts
    rates: FloatArray = busy / (TIERS * SERVICE_S) * shares / shares.sum()
    return rates


def plan_web(
    base: FloatArray, duration_s: float, rng: np.random.Generator, step: tuple[float, float] | None = None
) -> WebPlan:
    """Bursts of a random chain every ten minutes, the first after five; step: (time, factor) of a lasting change."""
    starts = np.arange(FIRST_BURST_S, duration_s, BURST_EVERY_S)
    chain = rng.integers(0, CHAINS, len(starts))
    marks = sorted({0.0, *starts.tolist(), *(starts + BURST_S).tolist(), *([step[0]] if step else [])})
    rates = np.tile(base, (len(marks), 1))
    for row, at in enumerate(marks):
        for start, which in zip(starts, chain, strict=True):
            if start <= at < start + BURST_S:
                rates[row, which] *= BURST_FACTOR
        if step is not None and at >= step[0]:
            rates[row] *= step[1]
    return WebPlan(np.array(marks), rates)


def steady_web(base: FloatArray) -> WebPlan:
    """The same rates throughout: where no calls are run the replicas stand at their steady number."""
    return WebPlan(np.zeros(1), base[None, :].copy())
