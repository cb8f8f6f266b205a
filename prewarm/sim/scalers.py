"""What a scaler sees and answers in the request-level mode, and the plain scalers of the tables.

A scaler is asked on a grid of ticks (and at once when a call finds nothing there) for the number of instances it wants.
It sees measured seconds that are over, never the requests to come, except where its name says so (clairvoyant).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from prewarm.domain import FloatArray, Int32Array, IntArray
from prewarm.sim.minute import highest_before


@dataclass(frozen=True, slots=True)
class Observation:
    """One function as measured at a tick.

    concurrency: mean number in the system (running and waiting) of the last whole seconds, newest last, at most 60;
    calls: requests that came in each of them. The counts are those of the moment.
    """

    concurrency: FloatArray
    calls: FloatArray
    in_system: int
    waiting: int
    ready: int
    starting: int

    @property
    def held(self) -> int:
        """Instances that exist or are being started."""
        return self.ready + self.starting

    @property
    def poked(self) -> bool:
        """A call found no instance at all; the scaler is then asked at once, outside its grid."""
        return self.held == 0 and self.in_system > 0


class Scaler(Protocol):
    """Answers how many instances a function should have."""

    def desired(self, now_s: float, observation: Observation) -> int:
        """Instances wanted from now on."""
        ...

    def wake_s(self, now_s: float) -> float:
        """When to be asked again although nothing is in the system; infinity if only a call can change its mind."""
        ...


@dataclass(slots=True)
class KeepAliveScaler:
    """KA-k per request: one instance for every `concurrency_limit` in the system, kept `keep_s` after its last use."""

    concurrency_limit: int
    keep_s: float
    _peaks: list[tuple[float, int]] = field(default_factory=list)

    def desired(self, now_s: float, observation: Observation) -> int:
        """The largest need seen within the last `keep_s` seconds."""
        need = math.ceil(observation.in_system / self.concurrency_limit)
        if observation.concurrency.size:
            need = max(need, math.ceil(float(observation.concurrency[-2:].max()) / self.concurrency_limit))
        # Newest last, needs falling: an older peak that is no higher than a newer one can never matter again.
        while self._peaks and (self._peaks[-1][1] <= need):
            self._peaks.pop()
        if need > 0:
            self._peaks.append((now_s, need))
        while self._peaks and self._peaks[0][0] + self.keep_s <= now_s:
            self._peaks.pop(0)
        return self._peaks[0][1] if self._peaks else 0

    def wake_s(self, now_s: float) -> float:
        """When the highest remembered peak is forgotten."""
        return max(now_s, self._peaks[0][0] + self.keep_s) if self._peaks else math.inf


@dataclass(frozen=True, slots=True)
class ClairvoyantScaler:
    """Holds, at every moment, what the coming seconds will need: arrivals and service times are known to it.

    coming: (seconds,) instances to hold in each second; changes: the seconds in which that number is another one.
    """

    coming: Int32Array
    changes: IntArray

    @classmethod
    def of(cls, needed: Int32Array, lead_s: int) -> ClairvoyantScaler:
        """From the instances that requests occupy in each second (seconds,), ordered `lead_s` before the need."""
        ahead = highest_before(needed[None, ::-1], lead_s)[0, ::-1]
        coming = np.maximum(needed, ahead).astype(np.int32)
        return cls(coming, np.flatnonzero(np.diff(coming)) + 1)

    def desired(self, now_s: float, observation: Observation) -> int:  # noqa: ARG002 - it need not look
        """The largest need from now until the lead time later."""
        second = math.floor(now_s)
        return int(self.coming[second]) if second < len(self.coming) else 0

    def wake_s(self, now_s: float) -> float:
        """The next second in which its answer changes."""
        return _next(self.changes, now_s)


@dataclass(frozen=True, slots=True)
class FloorScaler:
    """A scaler beneath a floor that changes on a fixed grid: minute decisions of any policy laid under a reactive rule.

    floor: (steps,) instances wanted at least during step s, from s x step_s on, the way min-scale works on Knative;
    changes_s: the moments at which it is another number.
    """

    inner: Scaler
    floor: Int32Array
    changes_s: FloatArray
    step_s: float = 60.0

    @classmethod
    def of(cls, inner: Scaler, floor: Int32Array, step_s: float = 60.0) -> FloorScaler:
        """`floor` laid under `inner`."""
        changes_s: FloatArray = (np.flatnonzero(np.diff(floor)) + 1) * np.float64(step_s)
        return cls(inner, floor, changes_s, step_s)

    def desired(self, now_s: float, observation: Observation) -> int:
        """The higher of the floor and what the reactive rule wants."""
        step = int(now_s // self.step_s)
        floor = int(self.floor[step]) if step < len(self.floor) else 0
        return max(floor, self.inner.desired(now_s, observation))

    def wake_s(self, now_s: float) -> float:
        """The next step with another floor, or earlier if the reactive rule wants it."""
        return min(_next(self.changes_s, now_s), self.inner.wake_s(now_s))


def _next(moments: FloatArray | IntArray, now_s: float) -> float:
    """The first of the sorted moments after `now_s`; infinity where none is left."""
    at = int(np.searchsorted(moments, now_s, side="right"))
    return float(moments[at]) if at < len(moments) else math.inf


def needed_per_second(arrival: FloatArray, service: FloatArray, concurrency_limit: int, seconds: int) -> Int32Array:
    """Instances that serve every request at once: ceil(peak number running in each second / limit), (seconds,)."""
    moments = np.concatenate([arrival, arrival + service])
    change = np.concatenate([np.ones(len(arrival)), -np.ones(len(arrival))])
    order = np.lexsort((change, moments))
    running = np.cumsum(change[order])
    second = np.minimum(moments[order].astype(np.int64), seconds)
    peak = np.zeros(seconds + 1)
    np.maximum.at(peak, second, running)
    last = np.zeros(seconds + 1)
    last[second] = running  # the later of equal indices wins: the number left when the second ends
    seen = np.zeros(seconds + 1, dtype=bool)
    seen[second] = True
    carried = last[np.maximum.accumulate(np.where(seen, np.arange(seconds + 1), 0))]
    peak[1:] = np.maximum(peak[1:], carried[:-1])
    return np.ceil(peak[:seconds] / concurrency_limit).astype(np.int32)
