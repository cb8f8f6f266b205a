"""The policies that every table is measured against, at minute grain: fixed keep-alive and its limits, clairvoyance.

Each is the plainest statement of its rule over the needs of a trace (benchmarks A2, A3.1). A memory limit couples the
functions of a cache and forecasts need state, so FaasCache and the hybrid histogram have modules of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import InputError, Int32Array
from prewarm.sim.minute import MinuteWorkload, Progress, highest_before


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """KA-k: keeps the largest need of the last `minutes` minutes. `kpa` at minute grain is KA-1 (benchmarks A3.1)."""

    minutes: int
    name: str

    def __post_init__(self) -> None:
        if self.minutes < 1:
            raise InputError(f"policy {self.name}: keep-alive must be 1 minute or more, is {self.minutes}")

    def allocations(self, workload: MinuteWorkload, *, progress: Progress | None = None) -> Int32Array:
        """Warm instances (n, T): the sliding maximum of the needs before each minute."""
        warm = highest_before(workload.need, self.minutes)
        if progress is not None:
            progress(1.0)
        return warm


@dataclass(frozen=True, slots=True)
class NeverUnload:
    """Keeps the largest need seen so far for ever: only the first call of each level is cold."""

    name: str = "never-unload"

    def allocations(self, workload: MinuteWorkload, *, progress: Progress | None = None) -> Int32Array:
        """Warm instances (n, T): the running maximum of the needs before each minute."""
        warm = np.zeros_like(workload.need)
        np.maximum.accumulate(workload.need[:, :-1], axis=1, out=warm[:, 1:])
        if progress is not None:
            progress(1.0)
        return warm


@dataclass(frozen=True, slots=True)
class Clairvoyant:
    """Knows the need of the minute to come and keeps exactly that: the bound, and no policy that could be run."""

    name: str = "clairvoyant"

    def allocations(self, workload: MinuteWorkload, *, progress: Progress | None = None) -> Int32Array:
        """Warm instances (n, T): the needs themselves."""
        if progress is not None:
            progress(1.0)
        return workload.need.copy()
