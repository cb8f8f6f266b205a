"""The promotion of benchmarks A3.4: nothing, then 5,000 calls a second, at once or over a ramp; and how it is absorbed.

The scenario is a value; its arrivals are a Poisson process drawn from the caller's generator. How well a policy absorbs
it is read off waiting times alone: per-second success and 95th percentile against their steady values at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from prewarm.domain import FloatArray

SUCCESS = 0.999
ABSORBED = 1.15  # times the steady 95th percentile
_FLOOR_GRID = 4_000  # moments at which the floor is computed, linear between them


@dataclass(frozen=True, slots=True)
class Promotion:
    """Load that begins at `start_s`, rises linearly for `ramp_s` (0 is a step) and stays at `peak_per_s` to the end."""

    peak_per_s: float = 5000.0
    ramp_s: float = 0.0
    start_s: float = 120.0
    length_s: float = 240.0
    service_s: float = 0.1
    concurrency_limit: int = 10

    @property
    def end_s(self) -> float:
        """When the run ends."""
        return self.start_s + self.length_s

    def arrivals(self, rng: np.random.Generator) -> FloatArray:
        """Sorted moments of the calls: a Poisson process with the scenario's rate."""
        total = self.peak_per_s * (self.length_s - self.ramp_s / 2)
        work = np.sort(rng.random(rng.poisson(total))) * total
        return self.start_s + self._when(work)

    def minute_counts(self, arrivals: FloatArray, *, day_start_s: float = 0.0) -> FloatArray:
        """The counts per minute (1,440,) of a day that began at `day_start_s` on the run's clock."""
        minutes = np.floor((arrivals - day_start_s) / 60.0).astype(np.int64) % 1440
        return np.bincount(minutes, minlength=1440).astype(np.float64)

    def _when(self, work: FloatArray) -> FloatArray:
        """Seconds after the start until `work` calls are expected to have come."""
        if self.ramp_s == 0:
            return work / self.peak_per_s
        in_ramp = self.peak_per_s * self.ramp_s / 2
        rising = np.sqrt(np.minimum(work, in_ramp) * 2 * self.ramp_s / self.peak_per_s)
        return np.where(work < in_ramp, rising, self.ramp_s + (work - in_ramp) / self.peak_per_s)


@dataclass(frozen=True, slots=True)
class Absorption:
    """How a promotion was absorbed.

    absorb_s: first second after its start from which, for good, success is 99.9 % and the 95th percentile of latency at
    most 1.15 times the steady one; None if never. fluctuation: largest share by which a second's 95th percentile is off
    the steady one from then on. success: share of calls served in time over the whole run.
    """

    absorb_s: int | None
    fluctuation: float | None
    success: float
    steady_p95_s: float


def absorption(promotion: Promotion, arrival: FloatArray, wait_s: FloatArray, *, timeout_s: float) -> Absorption:
    """Judge waiting times (infinite: timed out; NaN: the run ended first, left out) by the seconds of arrival."""
    seen = ~np.isnan(wait_s)
    second = np.floor(arrival[seen] - promotion.start_s).astype(np.int64)
    latency = np.minimum(wait_s[seen], timeout_s) + promotion.service_s
    served = np.isfinite(wait_s[seen])
    seconds = int(second[-1]) + 1 if second.size else 0
    edges = np.searchsorted(second, np.arange(seconds + 1))
    p95 = np.array([_p95(latency[low:high]) for low, high in pairwise(edges)])
    success = np.array([served[low:high].mean() if high > low else 1.0 for low, high in pairwise(edges)])
    tail = second >= seconds - max(1, seconds // 4)
    steady = _p95(latency[tail])
    bad = np.flatnonzero((success < SUCCESS) | (p95 > ABSORBED * steady))
    first = int(bad[-1]) + 1 if bad.size else 0
    absorbed = first < seconds
    off = float(np.nanmax(np.abs(p95[first:] / steady - 1.0))) if absorbed else None
    share = float(served.mean()) if served.size else math.nan
    return Absorption(first if absorbed else None, off, share, steady)


def floor_wait_s(arrival: FloatArray, promotion: Promotion, *, start_s: FloatArray, starts_per_s: float) -> FloatArray:
    """The least waiting of each call of an unannounced promotion, as a fluid; arrival: sorted (calls,).

    The best rule orders instances from the first call on, as fast as the control plane starts them (r a second), each
    ready S later (start_s: draws of it) and serving m = limit / service calls a second. By time t after the first call
    they can have served m r E[((t - S)+)^2] / 2, and call number k is served, first in, first out, when that reaches k.
    For a constant S that is closed: call k, come at a, waits max(0, S + sqrt(2 k / (m r)) - a).
    """
    if not arrival.size:
        return arrival
    rate = promotion.concurrency_limit / promotion.service_s * starts_per_s
    longest = float(np.quantile(start_s, 0.999)) + math.sqrt(2 * len(arrival) / rate) + 1.0
    after = np.linspace(0.0, longest, _FLOOR_GRID)
    served = np.array([rate / 2 * np.square(np.maximum(moment - start_s, 0.0)).mean() for moment in after])
    served_at = np.interp(np.arange(len(arrival)), served, after)
    wait: FloatArray = np.maximum(served_at - (arrival - arrival[0]), 0.0)
    return wait


def _p95(latency: FloatArray) -> float:
    return float(np.quantile(latency, 0.95)) if latency.size else math.nan
