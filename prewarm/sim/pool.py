"""One function's instances and queue in the request-level simulation.

Keeps the arrays that the compiled queue works on and the counts that a scaler is shown. Instances have no identity
beyond being started, ready or removed: slots are pooled (see prewarm.sim.queueing), so removing an instance takes away
slots that are free first, then those that become free next, and work in progress always ends.
"""

from __future__ import annotations

import math
from bisect import insort

import numpy as np

from prewarm.domain import FloatArray
from prewarm.sim.requests import ClusterSettings, Outcome, RequestFunction
from prewarm.sim.scalers import Observation

WINDOW_S = 60  # seconds that an observation covers


class FunctionPool:
    """The state of one function; every method that is given a moment expects it not to lie before the last one."""

    def __init__(self, function: RequestFunction, settings: ClusterSettings, rng: np.random.Generator) -> None:
        from prewarm.sim import queueing

        self.function = function
        self.evicted = 0
        self.refused = 0
        self._settings = settings
        self._rng = rng
        self._queue = queueing
        self._wait = np.full(len(function.arrival), np.nan)
        self._slots = np.empty(max(16, function.concurrency_limit))
        self._cursor = np.zeros(3, dtype=np.int64)
        seconds = math.ceil(settings.horizon_s) + 2
        self._level = np.zeros(seconds)
        self._area = np.zeros(seconds)
        self._measured = np.zeros(seconds)  # mean number in the system of each second that is over
        self._calls = np.bincount(function.arrival.astype(np.int64), minlength=seconds)[:seconds].astype(np.float64)
        self._second = 0
        self._level_now = 0.0
        self._ready = 0
        self._starting: list[tuple[float, bool]] = []
        self._starts = 0
        self._failed = 0
        self._held_s = 0.0
        self._changed_s = 0.0
        self._timeline: list[tuple[float, int, int]] = [(0.0, 0, 0)]
        self._running = 0
        self._draining: FloatArray = np.empty(0)  # when the work ends that removed instances still do

    @property
    def held(self) -> int:
        """Instances ready or starting."""
        return self._ready + len(self._starting)

    @property
    def memory_gb(self) -> float:
        """Memory that the held instances take."""
        return self.held * self.function.memory_gb if self.held else 0.0

    @property
    def next_arrival_s(self) -> float:
        """The next call that has not come yet; infinity after the last."""
        at = int(self._cursor[self._queue.ARRIVED])
        return float(self.function.arrival[at]) if at < len(self.function.arrival) else math.inf

    @property
    def last_arrival_s(self) -> float:
        """The last call that has come; minus infinity before the first."""
        at = int(self._cursor[self._queue.ARRIVED])
        return float(self.function.arrival[at - 1]) if at > 0 else -math.inf

    @property
    def waiting(self) -> int:
        """Requests that have come and not started."""
        return int(self._cursor[self._queue.ARRIVED] - self._cursor[self._queue.HEAD])

    @property
    def in_system(self) -> int:
        """Requests running or waiting when the pool was last advanced."""
        return self._running + self.waiting

    def advance(self, now_s: float) -> None:
        """Let requests come, start and time out until `now_s`, and instances become ready or fail."""
        while self._starting and self._starting[0][0] <= now_s:
            at_s, works = self._starting[0]
            self._note(at_s)
            self._starting.pop(0)
            self._ready += works
            self._failed += not works
            self._timeline.append((at_s, self.held, self._ready))
        function, queue = self.function, self._queue
        requests = (function.arrival, function.service, self._wait)
        queue.serve(requests, self._slots, self._cursor, (self._level, self._area), now_s, self._settings.timeout_s)
        busy = int((self._open_slots() > now_s).sum()) - self._slots_starting()
        self._draining = self._draining[self._draining > now_s]
        self._running = busy + len(self._draining)

    def observe(self, now_s: float) -> Observation:
        """What a scaler is shown at `now_s`; call `advance` first."""
        last = min(math.floor(now_s), len(self._measured))
        if last > self._second:
            span = slice(self._second, last)
            levels = self._level_now + np.cumsum(self._level[span])
            self._measured[span] = levels + self._area[span]
            self._level_now = float(levels[-1])
            self._second = last
        window = slice(max(0, last - WINDOW_S), last)
        return Observation(
            self._measured[window],
            self._calls[window],
            self.in_system,
            self.waiting,
            self._ready,
            len(self._starting),
        )

    def start(self, begin_s: float, now_s: float) -> None:
        """Order one instance now; the control plane begins at `begin_s`, and the start-up time runs from there."""
        self._note(now_s)
        seconds = float(self.function.start.draw(self._rng, 1)[0])
        works = not self._rng.random() < self._settings.start_failure_share
        insort(self._starting, (begin_s + seconds, works))
        self._starts += 1
        if works:
            self._add_slots(begin_s + seconds)
        self._timeline.append((now_s, self.held, self._ready))

    def remove(self, count: int, now_s: float) -> None:
        """Remove `count` instances: first those that would be ready last, then ready ones as slots become free."""
        self._note(now_s)
        cancelled = min(count, len(self._starting))
        for _ in range(cancelled):
            self._cancel_start()
        self._let_go(min(count - cancelled, self._ready), now_s)
        self._timeline.append((now_s, self.held, self._ready))

    def _cancel_start(self) -> None:
        ready_at_s, works = self._starting.pop()
        if works:
            gone = self._open_slots() == ready_at_s
            gone &= np.cumsum(gone) <= self.function.concurrency_limit
            self._queue.rebuild(self._slots, self._cursor, self._open_slots()[~gone])

    def _let_go(self, count: int, now_s: float) -> None:
        if count:
            self._ready -= count
            slots = np.sort(self._open_slots())
            gone = count * self.function.concurrency_limit
            self._draining = np.concatenate([self._draining, slots[:gone][slots[:gone] > now_s]])
            self._queue.rebuild(self._slots, self._cursor, slots[gone:])

    def idle_instances(self, now_s: float) -> int:
        """Ready instances that could go without touching work: whole instances' worth of free slots."""
        if self.waiting:
            return 0
        free = int((self._open_slots() <= now_s).sum())
        return min(self._ready, free // self.function.concurrency_limit)

    def outcome(self, end_s: float) -> Outcome:
        """Everything measured, with the run ended at `end_s`."""
        self.advance(end_s)
        self._note(end_s)
        served = np.isfinite(self._wait)
        started_s = self.function.arrival[served] + self._wait[served]
        ran_s = np.minimum(self.function.service[served], np.maximum(end_s - started_s, 0.0))
        return Outcome(
            self.function.key,
            self._wait,
            self._held_s,
            float(ran_s.sum()) / self.function.concurrency_limit,
            self._starts,
            self._failed,
            self.evicted,
            self.refused,
            np.asarray(self._timeline),
        )

    def _open_slots(self) -> FloatArray:
        return self._slots[: int(self._cursor[self._queue.SLOTS])]

    def _slots_starting(self) -> int:
        return self.function.concurrency_limit * sum(works for _, works in self._starting)

    def _add_slots(self, free_at_s: float) -> None:
        limit, size = self.function.concurrency_limit, int(self._cursor[self._queue.SLOTS])
        if size + limit > len(self._slots):
            self._slots = np.concatenate([self._slots, np.empty(size + limit)])
        for _ in range(limit):
            self._queue.add_slot(self._slots, size, free_at_s)
            size += 1
        self._cursor[self._queue.SLOTS] = size

    def _note(self, now_s: float) -> None:
        """Charge the instances held since the last change."""
        self._held_s += self.held * (now_s - self._changed_s)
        self._changed_s = now_s
