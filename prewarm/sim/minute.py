"""The minute protocol: what a policy's warm instances cost on a trace (benchmarks A3.1).

At minute t a policy has set F[i, t] warm instances knowing only the minutes before t; the need N[i, t] then shows.
Cold starts are max(0, N - F), memory is charged for whole minutes and never below what was used. Everything a table of
results needs is a sum over functions, so the score is taken in blocks of functions and large traces stay in bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, BoolArray, FloatArray, InputError, Int32Array

NEED_FLOOR = 1.6e-5  # mean concurrency below this counts as no call (benchmarks A3.1)
BLOCK_CELLS = 4_000_000
MINUTE_S = 60.0

Progress = Callable[[float], None]
S = TypeVar("S", bound=np.generic)


def need_of(concurrency: FloatArray) -> Int32Array:
    """Instances needed in each minute: ceil of the mean concurrency, values under 1.6e-5 being 0.

    An unknown minute (NaN) cannot be scored: InputError.
    """
    if np.isnan(concurrency).any():
        raise InputError("concurrency: a minute is unknown, and what is unknown cannot be scored")
    return np.ceil(np.where(concurrency < NEED_FLOOR, 0.0, concurrency)).astype(np.int32)


@dataclass(frozen=True, slots=True)
class MinuteWorkload:
    """A trace at minute grain, functions in rows.

    concurrency: (n, T) mean instances busy; need: (n, T) instances that had to exist; memory_gb: (n,) GB of 1,000 MB,
    NaN where unknown. `binary` marks a set whose need is only "called or not", its waste counted in function-minutes.
    unknown: (n, T) minutes of which nothing is known (need 0 there), None where all are known; they are not scored.
    calls: (n, T) calls of each minute (0 where unknown), None where the trace does not count them.
    """

    keys: tuple[str, ...]
    concurrency: FloatArray
    need: Int32Array
    memory_gb: FloatArray
    start_minute: int = 0
    binary: bool = False
    unknown: BoolArray | None = None
    calls: FloatArray | None = None

    def __post_init__(self) -> None:
        shape = (len(self.keys), self.need.shape[1] if self.need.ndim == 2 else -1)
        if self.need.shape != shape or self.concurrency.shape != shape or self.memory_gb.shape != shape[:1]:
            raise InputError(f"workload: need, concurrency and memory must agree on {len(self.keys)} functions")

    @property
    def minutes(self) -> int:
        """Number of minutes T."""
        return int(self.need.shape[1])

    def first(self, minutes: int) -> MinuteWorkload:
        """The same workload cut off after its first `minutes`."""
        return self._taking(self.keys, self.memory_gb, lambda cells: cells[:, :minutes])

    def select(self, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> MinuteWorkload:
        """The functions in `rows`, in that order."""
        keys = tuple(self.keys[row] for row in rows)
        return self._taking(keys, self.memory_gb[rows], lambda cells: cells[rows])

    def turned(self, offsets: np.ndarray[tuple[int], np.dtype[np.intp]]) -> MinuteWorkload:
        """Each function's day turned (circularly) forward by its offset in minutes; offsets: (n,)."""
        source = (np.arange(self.minutes)[None, :] - offsets[:, None]) % self.minutes
        return self._taking(self.keys, self.memory_gb, lambda cells: np.take_along_axis(cells, source, axis=1))

    def _taking(
        self, keys: tuple[str, ...], memory_gb: FloatArray, take: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> MinuteWorkload:
        return MinuteWorkload(
            keys,
            take(self.concurrency),
            take(self.need),
            memory_gb,
            self.start_minute,
            self.binary,
            None if self.unknown is None else take(self.unknown),
            None if self.calls is None else take(self.calls),
        )


class MinutePolicy(Protocol):
    """Decides, minute by minute, how many instances to keep warm; column t may use only columns before t."""

    @property
    def name(self) -> str:
        """The name in tables and files."""
        ...

    def allocations(self, workload: MinuteWorkload, *, progress: Progress | None = None) -> Int32Array:
        """Warm instances (n, T); `progress` is told the share done, 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Score:
    """One row of a results table. Rates are shares of the needs; None where a figure does not apply.

    `waste_gb_s` and `rum` need every function's memory; `waste_minutes` is idle instance-minutes; `always_cold` is the
    share of called functions of which every need was cold; the percentiles run over called functions.
    """

    cold: int
    needed: int
    cold_rate: float | None
    cold_rate_p50: float | None
    cold_rate_p75: float | None
    cold_rate_p90: float | None
    always_cold: float | None
    waste_gb_s: float | None
    waste_minutes: float
    waste_vs_ka10: float | None
    rum: float | None


@dataclass(frozen=True, slots=True)
class _Sums:
    """What one block of functions adds: cold and need per function, waste of the policy and of KA-10 in both units."""

    cold: np.ndarray[tuple[int], np.dtype[np.int64]]
    need: np.ndarray[tuple[int], np.dtype[np.int64]]
    waste_gb_s: float
    waste_minutes: float
    ka10_gb_s: float
    ka10_minutes: float


def score(workload: MinuteWorkload, allocations: Int32Array, *, cold_cost: float = COLD_COST) -> Score:
    """Score F = `allocations` (n, T) by the minute protocol; `cold_cost` is RUM's price of a cold start."""
    tally = Tally()
    tally.add(workload, allocations)
    return tally.score(cold_cost=cold_cost)


class Tally:
    """Adds up a policy's row part by part, for traces of which only some functions fit in memory at a time."""

    def __init__(self) -> None:
        self._blocks: list[_Sums] = []
        self._binary = False

    def add(self, workload: MinuteWorkload, allocations: Int32Array) -> None:
        """Take in some functions and what was kept warm for them, (n, T)."""
        if allocations.shape != workload.need.shape:
            raise InputError(f"allocations: must have shape {workload.need.shape}, have {allocations.shape}")
        rows = max(1, BLOCK_CELLS // max(1, workload.minutes))
        self._binary = workload.binary
        for at in range(0, len(workload.keys), rows):
            self._blocks.append(_block(workload, allocations, slice(at, at + rows)))

    def score(self, *, cold_cost: float = COLD_COST) -> Score:
        """The row over everything added."""
        return _summary(self._blocks, binary=self._binary, cold_cost=cold_cost)


def cold_starts(need: Int32Array, allocations: Int32Array) -> Int32Array:
    """Cold starts per function and minute, max(0, N - F)."""
    cold: Int32Array = np.maximum(need - allocations, 0)
    return cold


def highest_before(cells: NDArray[S], minutes: int) -> NDArray[S]:
    """The largest of the last `minutes` cells, the current one excluded, (n, T); of needs: F of fixed keep-alive KA-k.

    Rounds of doubling: what covers a window twice, shifted, covers one of twice the width.
    """
    width = cells.shape[1]
    before = np.zeros_like(cells)
    before[:, 1:] = cells[:, :-1]
    covered = 1
    while covered < min(minutes, width):
        step = min(covered, minutes - covered)
        before[:, step:] = np.maximum(before[:, step:], before[:, :-step])
        covered += step
    return before


def _block(workload: MinuteWorkload, allocations: Int32Array, block: slice) -> _Sums:
    need, warm = workload.need[block], allocations[block]
    memory = workload.memory_gb[block]
    used = workload.concurrency[block]
    reference = highest_before(need, 10)
    if workload.unknown is not None:
        warm, reference = (np.where(workload.unknown[block], 0, held) for held in (warm, reference))
    cold = cold_starts(need, warm)
    idle = _idle(used, warm + cold)
    idle_reference = _idle(used, np.maximum(reference, need))
    return _Sums(
        cold.sum(axis=1, dtype=np.int64),
        need.sum(axis=1, dtype=np.int64),
        float(MINUTE_S * (memory * idle).sum()),
        float(idle.sum()),
        float(MINUTE_S * (memory * idle_reference).sum()),
        float(idle_reference.sum()),
    )


def _idle(used: FloatArray, held: Int32Array) -> FloatArray:
    """Idle instance-minutes per function: held less used, each minute at least 0."""
    return np.asarray(np.maximum(held - used, 0.0).sum(axis=1))


def _summary(blocks: list[_Sums], *, binary: bool, cold_cost: float) -> Score:
    cold = np.concatenate([block.cold for block in blocks]) if blocks else np.zeros(0, np.int64)
    need = np.concatenate([block.need for block in blocks]) if blocks else np.zeros(0, np.int64)
    called = need > 0
    rates = cold[called] / need[called]
    waste = math.fsum(block.waste_gb_s for block in blocks)
    minutes = math.fsum(block.waste_minutes for block in blocks)
    known = math.isfinite(waste) and not binary
    ours, theirs = (
        (waste, math.fsum(block.ka10_gb_s for block in blocks))
        if known
        else (minutes, math.fsum(block.ka10_minutes for block in blocks))
    )
    quantiles = [float(np.quantile(rates, level)) if rates.size else None for level in (0.5, 0.75, 0.9)]
    total = int(cold.sum())
    return Score(
        cold=total,
        needed=int(need.sum()),
        cold_rate=total / int(need.sum()) if called.any() else None,
        cold_rate_p50=quantiles[0],
        cold_rate_p75=quantiles[1],
        cold_rate_p90=quantiles[2],
        always_cold=float((rates == 1.0).mean()) if rates.size else None,
        waste_gb_s=waste if known else None,
        waste_minutes=minutes,
        waste_vs_ka10=ours / theirs if theirs > 0 else None,
        rum=cold_cost * total + waste * IDLE_COST_PER_GB_S if known else None,
    )
