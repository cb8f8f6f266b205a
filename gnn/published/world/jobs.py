"""Batch jobs and training gangs: when they come, what they ask for and how long they run.

Arrivals are a unit-rate Poisson process stretched by the load, and every other draw belongs to the job's number, so
that all loads see the same jobs. A run starts with those that came within two hours before it and would still be
running.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnn.published.world.laws import lognormal
from prewarm.domain import FloatArray, IntArray

BATCH_CORES = (1, 2, 4)
GB_PER_CORE = (2, 8)
BATCH_S, BATCH_CV = 120.0, 1.5
GANG_PODS, GANG_CPU, GANG_GB, GANG_S = 4, 4, 16, 600.0
START_S, START_CV = 2.3, 0.5
WEB_SHARE, BATCH_SHARE, GANG_SHARE = 0.60, 0.25, 0.15
LEAD_S = 7_200.0
BATCH_WORK, GANG_WORK = sum(BATCH_CORES) / len(BATCH_CORES) * BATCH_S, GANG_PODS * GANG_CPU * GANG_S
"""Core-seconds of a mean job."""


@dataclass(frozen=True, slots=True, eq=False)
class Jobs:
    """In the order of arrival, (j,). arrive_s below 0: running at the start, run_s is then what is left.

    cpu, memory_gb: of one pod; pods: 1 or 4; start_s: until its last pod is ready.
    """

    arrive_s: FloatArray
    cpu: IntArray
    memory_gb: IntArray
    pods: IntArray
    run_s: FloatArray
    start_s: FloatArray

    @classmethod
    def of(cls, columns: Iterable[Any]) -> Jobs:
        """From the six columns in order."""
        arrive_s, cpu, memory_gb, pods, run_s, start_s = columns
        return cls(arrive_s, cpu, memory_gb, pods, run_s, start_s)

    def __len__(self) -> int:
        return len(self.arrive_s)

    def take(self, rows: IntArray) -> Jobs:
        """Some of them, in the order of `rows`."""
        return Jobs.of(column[rows] for column in self.columns)

    @property
    def columns(self) -> tuple[FloatArray | IntArray, ...]:
        """All six, in order."""
        return self.arrive_s, self.cpu, self.memory_gb, self.pods, self.run_s, self.start_s


def draw_jobs(cores: float, duration_s: float, rng: np.random.Generator) -> Jobs:
    """All jobs of a run at an offered load of `cores`."""
    of_batch, of_gangs = rng.spawn(2)
    parts = []
    for rate, shapes, stream in (
        (cores * BATCH_SHARE / BATCH_WORK, _batch, of_batch),
        (cores * GANG_SHARE / GANG_WORK, _gangs, of_gangs),
    ):
        arrivals, rest = stream.spawn(2)
        arrive = _arrivals(rate, duration_s, arrivals)
        parts.append(_running(Jobs.of((arrive, *shapes(len(arrive), rest)))))
    both = Jobs.of(np.concatenate(pair) for pair in zip(parts[0].columns, parts[1].columns, strict=True))
    return both.take(np.argsort(both.arrive_s, kind="stable"))


def draw_backlog(count: int, rng: np.random.Generator) -> Jobs:
    """`count` jobs in the mix of the load, all there from the start, in a drawn order."""
    of_batch, of_gangs, which = rng.spawn(3)
    rates = BATCH_SHARE / BATCH_WORK, GANG_SHARE / GANG_WORK
    gang = which.random(count) < rates[1] / sum(rates)
    pairs = zip(_batch(count, of_batch), _gangs(count, of_gangs), strict=True)
    return Jobs.of((np.zeros(count), *(np.where(gang, theirs, ours) for ours, theirs in pairs)))


def _arrivals(rate: float, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Arrivals from LEAD_S before the start to the end, of a unit-rate process stretched by `rate`."""
    until = rate * (LEAD_S + duration_s)
    units = np.cumsum(rng.exponential(1.0, int(until + 10.0 * np.sqrt(until + 1.0)) + 10))
    arrive: FloatArray = units[units < until] / rate - LEAD_S if rate > 0 else np.zeros(0)
    return arrive


def _batch(count: int, rng: np.random.Generator) -> tuple[FloatArray | IntArray, ...]:
    sizes, memory, run, start = rng.spawn(4)
    cpu = np.array(BATCH_CORES)[(sizes.random(count) * len(BATCH_CORES)).astype(np.int64)]
    per_core = GB_PER_CORE[0] + (memory.random(count) * (GB_PER_CORE[1] - GB_PER_CORE[0] + 1)).astype(np.int64)
    run_s = lognormal(count, run, mean=BATCH_S, cv=BATCH_CV)
    start_s = lognormal(count, start, mean=START_S, cv=START_CV)
    return cpu, cpu * per_core, np.ones(count, dtype=np.int64), run_s, start_s


def _gangs(count: int, rng: np.random.Generator) -> tuple[FloatArray | IntArray, ...]:
    run, start = rng.spawn(2)
    run_s = run.exponential(GANG_S, count)
    start_s = lognormal(count * GANG_PODS, start, mean=START_S, cv=START_CV).reshape(count, GANG_PODS).max(axis=1)
    each = np.ones(count, dtype=np.int64)
    return GANG_CPU * each, GANG_GB * each, GANG_PODS * each, run_s, start_s


def _running(jobs: Jobs) -> Jobs:
    """Those that had ended before the start left out; of those that run, what is left."""
    left = jobs.arrive_s + jobs.start_s + jobs.run_s
    kept = jobs.take(np.flatnonzero(left > 0))
    begun = kept.arrive_s < 0
    run_s = np.where(begun, kept.arrive_s + kept.start_s + kept.run_s, kept.run_s)
    return Jobs.of((*kept.columns[:4], run_s, np.where(begun, 0.0, kept.start_s)))
