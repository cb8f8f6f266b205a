"""The values that go into the request-level simulation and come out of it.

Waiting is what a caller feels of a cold start: the time between a call and the start of its service.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, InputError
from prewarm.sim.startup import StartLaw

TIMEOUT_S = 30.0  # a request that waited longer has failed (benchmarks B1.1)


@dataclass(frozen=True, slots=True)
class RequestFunction:
    """One function's work: arrival: (requests,) sorted; service: (requests,); both in seconds."""

    key: str
    arrival: FloatArray
    service: FloatArray
    concurrency_limit: int
    memory_gb: float
    start: StartLaw

    def __post_init__(self) -> None:
        if self.arrival.shape != self.service.shape or np.any(np.diff(self.arrival) < 0):
            raise InputError(f"{self.key}: arrivals must be sorted, one service time each")
        if self.concurrency_limit < 1:
            raise InputError(f"{self.key}: concurrency limit must be 1 or more, is {self.concurrency_limit}")


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What all functions share.

    horizon_s: length of the run; starts_per_s: instances that the control plane can start, None for no limit;
    memory_gb: memory of the cluster, None for no limit; timeout_s: a request that waited longer has failed;
    start_failure_share: share of starts that take their time and come to nothing.
    """

    horizon_s: float
    tick_s: float = 2.0
    starts_per_s: float | None = None
    memory_gb: float | None = None
    timeout_s: float = TIMEOUT_S
    start_failure_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one function.

    wait_s: (requests,) seconds between call and start of service, infinite where it timed out, NaN where the run ended
    first; held_s: instance-seconds from order to removal; used_s: the part of them in which work ran, by slot share;
    timeline: (changes, 3) moment, instances held, ready.
    """

    key: str
    wait_s: FloatArray
    held_s: float
    used_s: float
    starts: int
    failed_starts: int
    evicted: int
    refused: int
    timeline: FloatArray
