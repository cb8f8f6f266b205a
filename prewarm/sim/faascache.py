"""FaasCache at minute grain: keeping warm as caching, by the Greedy-Dual rule (Fuerst and Sharma, ASPLOS'21, §4).

A container's priority is clock + frequency x start cost / size. A container that is needed and absent is brought in;
when it does not fit, those of lowest priority go until it does, and the clock takes the priority of the last one gone.
Containers needed in the current minute are running and cannot go; one that still does not fit runs outside the cache
(the paper's dropped request). The start cost is one for all functions, since the traces do not tell it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from prewarm.domain import InputError, Int32Array
from prewarm.sim.minute import MinuteWorkload, Progress

_REPORT_EVERY = 60  # minutes between two reports of progress


@dataclass(slots=True)
class _Cache:
    """State of the cache: warm containers per function, one priority per function, and the clock.

    A function's containers share their priority, since frequency and size are the function's. `queue` is a heap of
    (priority, function); an entry whose priority is no longer the function's is stale and dropped when met.
    """

    capacity_gb: float
    size_gb: list[float]
    warm: list[int]
    frequency: list[int]
    priority: list[float]
    used_gb: float = 0.0
    clock: float = 0.0
    queue: list[tuple[float, int]] = field(default_factory=list)

    def serve(self, function: int, need: int, busy: Int32Array) -> None:
        """Account `need` containers of `function` in this minute; busy: (n,) the needs of the minute, which stay."""
        self.frequency[function] += need
        size = self.size_gb[function]
        self.priority[function] = self.clock + self.frequency[function] / size
        missing = need - self.warm[function]
        while missing > 0 and self._make_room(size, busy):
            self.warm[function] += 1
            self.used_gb += size
            missing -= 1
        heapq.heappush(self.queue, (self.priority[function], function))

    def _make_room(self, size_gb: float, busy: Int32Array) -> bool:
        """Evict until `size_gb` fits; False when only running containers are left."""
        passed: list[tuple[float, int]] = []
        while self.used_gb + size_gb > self.capacity_gb and self.queue:
            priority, victim = self.queue[0]
            if priority != self.priority[victim] or self.warm[victim] == 0:
                heapq.heappop(self.queue)
            elif self.warm[victim] <= busy[victim]:
                passed.append(heapq.heappop(self.queue))
            else:
                self.warm[victim] -= 1
                self.used_gb -= self.size_gb[victim]
                self.clock = priority
        for entry in passed:
            heapq.heappush(self.queue, entry)
        return self.used_gb + size_gb <= self.capacity_gb


@dataclass(frozen=True, slots=True)
class FaasCache:
    """Greedy-Dual keep-alive in a cache of `capacity_gb`; functions of unknown memory are an InputError."""

    capacity_gb: float
    name: str

    def __post_init__(self) -> None:
        if not self.capacity_gb > 0:
            raise InputError(f"policy {self.name}: the cache must be larger than 0 GB")

    def allocations(self, workload: MinuteWorkload, *, progress: Progress | None = None) -> Int32Array:
        """Warm instances (n, T): what the cache holds when each minute begins."""
        if not np.all(workload.memory_gb > 0):
            raise InputError(f"policy {self.name}: needs every function's memory, and one is unknown or 0")
        n, minutes = workload.need.shape
        cache = _Cache(self.capacity_gb, workload.memory_gb.tolist(), [0] * n, [0] * n, [0.0] * n)
        held = np.zeros((n, minutes), dtype=np.int32)
        for minute in range(minutes):
            held[:, minute] = cache.warm
            busy = workload.need[:, minute]
            for function in np.flatnonzero(busy).tolist():
                cache.serve(function, int(busy[function]), busy)
            if progress is not None and minute % _REPORT_EVERY == 0:
                progress(minute / minutes)
        return held
