"""The hybrid histogram policy of "Serverless in the Wild" (Shahrad et al., ATC'20, section 4.2), complete.

Per app, idle times go into one-minute bins over a range (hours). Trusted (coefficient of variation of the bins >= 2):
unload after a call, load again at the 5th percentile less a tenth, keep until the 99th plus a tenth. Not trusted: keep
loaded for the whole range. More than half of the idle times beyond the range: a time-series model (ARIMA) says when the
next call comes, loaded from 15 % before to 15 % after. It is a baseline, so it is as published, not improved.

Departures, numbered. 1: the paper has one container per app; where more were needed at once, all that are loaded follow
the largest need of the minutes since the last silence longer than the range (in practice: of the last `range_minutes`).
2: execution takes no time here, so a bin counts minutes between the minutes of two calls. 3: ARIMA(1,0,1) is
fitted with statsmodels at each new idle time beyond the first three (their mean before that), on the newest 50, and
kept per distinct history; the paper searches the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from prewarm.domain import FloatArray, Int32Array, IntArray
from prewarm.forecast.local.idle_arima import next_idle_time

HEAD, TAIL = 0.05, 0.99
MARGIN = 0.10
ARIMA_MARGIN = 0.15
TRUSTED_CV = 2.0
BEYOND_SHARE = 0.5

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class _Apps:
    """What is learned so far of n apps; `first`/`last`: idle ages (minutes since the last call) to be loaded at."""

    bins: FloatArray
    beyond: IntArray
    last_call: IntArray
    first: FloatArray
    until: FloatArray
    gaps: list[list[float]] = field(default_factory=list)

    @classmethod
    def new(cls, n: int, range_minutes: int) -> _Apps:
        """Nothing seen yet: an app that is called for the first time stays loaded for the whole range."""
        whole = np.full(n, float(range_minutes))
        return cls(
            np.zeros((n, range_minutes + 1)),
            np.zeros(n, dtype=np.int64),
            np.full(n, -1, dtype=np.int64),
            np.ones(n),
            whole,
            [[] for _ in range(n)],
        )


@dataclass(frozen=True, slots=True)
class HybridHistogram:
    """The policy with a range of `range_minutes` (baselines: 60, 240); `use_arima` False leaves that branch out."""

    range_minutes: int = 240
    use_arima: bool = True

    def allocations(self, need: Int32Array, *, progress: Progress | None = None) -> Int32Array:
        """Instances to keep loaded in each minute, (n, T), decided before it from need (n, T) of earlier minutes.

        `progress` is told (minutes done, minutes in all) now and then.
        """
        n, minutes = need.shape
        apps = _Apps.new(n, self.range_minutes)
        peaks = _RecentPeak(n, self.range_minutes)
        out = np.zeros((n, minutes), dtype=np.int32)
        for t in range(minutes):
            age = t - apps.last_call
            loaded = (apps.last_call >= 0) & (age >= apps.first) & (age <= apps.until)
            out[loaded, t] = peaks.now()[loaded]
            self._learn(apps, np.flatnonzero(need[:, t] > 0), t)
            peaks.add(need[:, t])
            if progress is not None and (t % 60 == 59 or t == minutes - 1):
                progress(t + 1, minutes)
        return out

    def _learn(self, apps: _Apps, called: IntArray, t: int) -> None:
        """Take in that these apps were called in minute t, and set when each is to be loaded from now on."""
        before = apps.last_call[called]
        again = called[before >= 0]
        gap = t - apps.last_call[again]
        inside = gap <= self.range_minutes
        apps.bins[again[inside], gap[inside]] += 1.0
        apps.beyond[again[~inside]] += 1
        if self.use_arima:
            for row, length in zip(again.tolist(), gap.tolist(), strict=True):
                apps.gaps[row].append(float(length))
        apps.last_call[called] = t
        if len(again):
            self._windows(apps, again)

    def _windows(self, apps: _Apps, rows: IntArray) -> None:
        """Idle ages between which the app is loaded, from its histogram; the ARIMA branch where it leaves the range."""
        bins = apps.bins[rows]
        inside = bins.sum(axis=1)
        share = np.cumsum(bins, axis=1) / np.maximum(inside, 1.0)[:, None]
        head = np.argmax(share >= HEAD, axis=1)
        tail = np.argmax(share >= TAIL, axis=1)
        counted = bins[:, 1:]
        variation = counted.std(axis=1) / np.maximum(counted.mean(axis=1), 1e-12)
        trusted = (inside > 0) & (variation >= TRUSTED_CV)
        apps.first[rows] = np.where(trusted, np.maximum(np.floor(head * (1.0 - MARGIN)), 1.0), 1.0)
        apps.until[rows] = np.where(trusted, np.ceil(tail * (1.0 + MARGIN)), float(self.range_minutes))
        if not self.use_arima:
            return
        outside = apps.beyond[rows] > BEYOND_SHARE * (apps.beyond[rows] + inside)
        for row in rows[outside].tolist():
            expected = next_idle_time(tuple(apps.gaps[row][-50:]))
            apps.first[row] = max(1.0, math.floor(expected * (1.0 - ARIMA_MARGIN)))
            apps.until[row] = math.ceil(expected * (1.0 + ARIMA_MARGIN))


class _RecentPeak:
    """Largest need of the last `window` minutes per app, by a ring of columns (never below 1)."""

    def __init__(self, n: int, window: int) -> None:
        self._ring = np.zeros((n, window), dtype=np.int32)
        self._at = 0
        self._peak = np.ones(n, dtype=np.int32)

    def now(self) -> Int32Array:
        return self._peak

    def add(self, need: Int32Array) -> None:
        leaving = self._ring[:, self._at].copy()
        self._ring[:, self._at] = need
        self._at = (self._at + 1) % self._ring.shape[1]
        stale = np.flatnonzero((leaving >= self._peak) & (leaving > 1))
        self._peak = np.maximum(self._peak, need)
        if len(stale):
            self._peak[stale] = np.maximum(self._ring[stale].max(axis=1), 1)
