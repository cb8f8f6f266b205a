"""`prewarm bench tick`: what one tick of the service costs, with the shipped model deciding for every function.

Each size runs in a process of its own, so that memory is that size's alone. Its history is fed a day and more at the
density of the public day exemplars (drawn with their multiplicity); then the service's own `run_tick` goes minute by
minute: history, the model worker with its copy of the hits, foresight, control. Seconds are medians of the measured
ticks; memory is the resident set of the service's process and of its worker together.
"""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

import numpy as np

from prewarm.bench.memory import resident_gib
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import Float32Array, IntArray, PrewarmError
from prewarm.history import History, MinuteBatch, Retention
from prewarm.history.measure import FunctionDays, HistorySize, measure_gib, read_function_days
from prewarm.loop.clock import WallClock
from prewarm.loop.fleet import Fleet
from prewarm.loop.oracle import LevelOracle
from prewarm.loop.patient import model_pool
from prewarm.loop.record_only import RecordOnly
from prewarm.loop.tick import Parts, run_tick
from prewarm.settings import Settings
from prewarm.telemetry import Metrics

SIZES = (1_000, 10_000, 50_000, 100_000)
QUICK_SIZES = (1_000, 10_000, 50_000)
WARM_UP, TICKS = 2, 7
FED_MINUTES = 1_500
START_MINUTE = 29_000_160  # a midnight
PHASES = ("collect", "score", "forecast", "decide", "act")
EXEMPLARS = Path("azure2019-invitro/day_series_exemplars_1440.csv.gz")
MULTIPLICITY = Path("azure2019-invitro/day_sample1350_multiplicity.csv")
LOAD_S = 180.0

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds by phase of each measured tick, GiB at the end, and how much there was to look at."""

    functions: int
    hits: int
    phases: dict[str, list[float]]
    gib: float

    @property
    def seconds(self) -> float:
        """Median of a whole tick."""
        return statistics.median(map(sum, zip(*self.phases.values(), strict=True)))

    def row(self) -> Row:
        """The whole and its parts."""
        parts: Row = {f"{name} s": statistics.median(seconds) for name, seconds in self.phases.items()}
        return {"functions": self.functions, "hits seen": self.hits, "tick s": self.seconds} | parts | {"GiB": self.gib}


@dataclass(slots=True)
class _Demand:
    """A source of counts: every function repeats a day of the exemplars, turned by its own offset."""

    fleet: Fleet
    days: Float32Array
    series: IntArray
    turn: IntArray
    hits: int = field(default=0)

    async def collect(self, now: float) -> None:
        """Write the minute that has just ended into the history."""
        self.feed(int(now // 60) - 1)

    def feed(self, minute: int) -> None:
        """One minute of everybody."""
        counts = self.days[self.series, (minute + self.turn) % self.days.shape[1]]
        rows = np.flatnonzero(counts).astype(np.int32)
        self.hits += rows.size
        running = np.minimum(counts[rows] / 600.0, 8.0).astype(np.float32)
        batch = MinuteBatch(minute, rows, counts[rows], running)
        refused = self.fleet.history.observe(batch, now_minute=minute + 1)
        if refused is not None:
            raise PrewarmError(f"minute {minute}: {refused}")


def run(
    data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Callable[..., None]
) -> BenchResult:
    """All sizes; `quick` leaves out the largest and the two weeks of history."""
    del plot
    sizes = QUICK_SIZES if quick else SIZES
    costs: dict[int, Cost] = {}
    for position, size in enumerate(sizes):
        progress(position / (len(sizes) + 1), f"{size:,} functions")
        costs[size] = _alone(_tick_cost, (data_dir, size, seed))
    goals = [
        Goal.at_most("seconds_50k", 4.0, costs[50_000].seconds),
        Goal.at_most("gib_50k", 1.5, costs[50_000].gib),
        Goal.at_most("ms_1k", 150.0, 1000 * costs[1_000].seconds),
    ]
    if not quick:
        goals.append(Goal.at_most("growth", 12.0, costs[100_000].seconds / costs[10_000].seconds))
        progress(len(sizes) / (len(sizes) + 1), "two weeks of history")
        goals.append(Goal.at_most("history_gib", 1.0, _alone(_history_size, (data_dir, seed)).gib))
    sums = {path.name: hashlib.sha256((data_dir / path).read_bytes()).hexdigest() for path in (EXEMPLARS, MULTIPLICITY)}
    versions = installed_versions(("prewarm-fleet", "lightgbm", "numba", "numpy"))
    return BenchResult("tick", seed, sums, versions, [cost.row() for cost in costs.values()], goals)


def _alone(work: Callable[..., Answer], arguments: tuple[object, ...]) -> Answer:
    """`work` in a fresh process, which may have children of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_send, args=(there, work, arguments))
    process.start()
    there.close()
    answer: Answer = here.recv()
    process.join()
    return answer


def _send(pipe: Connection, work: Callable[..., object], arguments: tuple[object, ...]) -> None:
    pipe.send(work(*arguments))


def _history_size(data_dir: Path, seed: int) -> HistorySize:
    return measure_gib(50_000, 14, seed, _days(data_dir))


def _days(data_dir: Path) -> FunctionDays:
    return read_function_days(data_dir / EXEMPLARS, data_dir / MULTIPLICITY)


def _tick_cost(data_dir: Path, size: int, seed: int) -> Cost:
    return asyncio.run(_measured(_days(data_dir), size, seed))


async def _measured(days: FunctionDays, size: int, seed: int) -> Cost:
    fleet, demand = _fleet(days, size, seed)
    minute = START_MINUTE
    for minute in range(START_MINUTE, START_MINUTE + FED_MINUTES):
        demand.feed(minute)
    async with model_pool() as pool:
        record_only = RecordOnly(fleet)
        parts = Parts((demand,), record_only, LevelOracle(fleet, pool, budget_s=LOAD_S), record_only, 0)
        minute = await _until_the_model_decides(fleet, parts, minute + 1)
        costs: list[dict[str, float]] = []
        for tick in range(WARM_UP + TICKS):
            before = _spent(fleet.metrics)
            view = await run_tick(fleet, parts, (minute + tick + 1) * 60.0)
            if view.decisions.tag.rule_decided:
                raise PrewarmError(f"tick: the rule decided ({view.decisions.tag.why}), so there is nothing to measure")
            after = _spent(fleet.metrics)
            costs.append({name: after[name] - before[name] for name in PHASES})
        measured = {name: [cost[name] for cost in costs[WARM_UP:]] for name in PHASES}
        return Cost(size, demand.hits, measured, resident_gib())


def _fleet(days: FunctionDays, size: int, seed: int) -> tuple[Fleet, _Demand]:
    rng = np.random.default_rng(seed)
    share = days.multiplicity / days.multiplicity.sum()
    history = History(Retention(), START_MINUTE)
    for row in range(size):
        history.index(f"bench/f{row}")
    fleet = Fleet(Settings(), history, WallClock(), Metrics())
    series = rng.choice(len(share), size, p=share)
    return fleet, _Demand(fleet, days.count, series, rng.integers(0, days.count.shape[1], size))


async def _until_the_model_decides(fleet: Fleet, parts: Parts, minute: int) -> int:
    """Tick until the worker has loaded the model and its copy of the hits; returns the last minute."""
    until = time.monotonic() + LOAD_S
    while time.monotonic() < until:
        view = await run_tick(fleet, parts, (minute + 1) * 60.0)
        minute += 1
        if not view.decisions.tag.rule_decided:
            return minute
        await asyncio.sleep(1.0)
    raise PrewarmError(f"tick: the model did not load within {LOAD_S:g} s")


def _spent(metrics: Metrics) -> dict[str, float]:
    """Seconds spent so far, by phase."""
    found = {name: metrics.registry.get_sample_value("prewarm_tick_seconds_sum", {"phase": name}) for name in PHASES}
    return {name: seconds or 0.0 for name, seconds in found.items()}
