"""How much memory a full history takes, measured on this machine at the density of real function days.

Function days come as distinct series with a multiplicity (how many functions of a sample had one like it). Functions
are drawn from them in proportion, each turned by its own offset, so that the fleet's minutes are evenly loaded.
"""

from __future__ import annotations

import csv
import gzip
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prewarm.domain import Float32Array, InputError, Int32Array, IntArray
from prewarm.history.batch import MinuteBatch
from prewarm.history.counts import History
from prewarm.history.retention import DAY_MINUTES, Retention

_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class FunctionDays:
    """Distinct days: `count` (series, 1440) calls per minute, `multiplicity` (series,) functions like it."""

    count: Float32Array
    multiplicity: IntArray


@dataclass(frozen=True, slots=True)
class HistorySize:
    """What `measure_gib` found; `hits_a_day` is the mean over functions, `sparse_s` the time of a one-day view."""

    functions: int
    days: int
    gib: float
    hits_a_day: float
    sparse_s: float
    observe_s: float


def read_function_days(series: Path, multiplicity: Path) -> FunctionDays:
    """The public exemplars: series by `series_id` and minute columns 1..1440; multiplicity 1 where none is listed."""
    with multiplicity.open(newline="") as lines:
        table = csv.DictReader(lines)
        column = next((name for name in table.fieldnames or () if name.startswith("count_in_sample")), None)
        if column is None:
            raise InputError(f"{multiplicity.name}: needs a column count_in_sample*")
        times = {row["series_id"]: int(row[column]) for row in table}
    with gzip.open(series, "rt", newline="") as text:
        rows = list(csv.DictReader(text))
    minutes = [str(minute) for minute in range(1, DAY_MINUTES + 1)]
    count = np.array([[float(row[minute] or 0) for minute in minutes] for row in rows], np.float32)
    return FunctionDays(count, np.array([times.get(row["series_id"], 1) for row in rows], np.int64))


def measure_gib(functions: int, days: int, seed: int, function_days: FunctionDays) -> HistorySize:
    """Fill a history minute by minute and return the growth of the process's resident memory."""
    rng = np.random.default_rng(seed)
    share = function_days.multiplicity / function_days.multiplicity.sum()
    series = rng.choice(share.size, functions, p=share)
    shift = rng.integers(0, DAY_MINUTES, functions).astype(np.int32)
    by_minute = _by_minute(function_days.count, series, shift)
    before = resident_bytes()
    started = time.perf_counter()
    history = History(Retention(), 0)
    for row in range(functions):
        history.index(f"fleet/f{row}")
    last = days * DAY_MINUTES
    for minute in range(last):
        rows, count = by_minute[minute % DAY_MINUTES]
        history.observe(MinuteBatch(minute, rows, count, count * np.float32(0.01)), now_minute=minute)
    observe_s = (time.perf_counter() - started) / last
    sparse_s, hits = _time_view(history, last)
    gib = (resident_bytes() - before) / _GIB
    return HistorySize(functions, days, gib, hits / functions, sparse_s, observe_s)


def _time_view(history: History, now_minute: int) -> tuple[float, int]:
    """Median of three one-day views in seconds, and the hits in one."""
    times, hits = [], 0
    for _ in range(3):
        started = time.perf_counter()
        hits = history.sparse(now_minute, DAY_MINUTES).hit_minute.size
        times.append(time.perf_counter() - started)
    return sorted(times)[1], hits


def _by_minute(days: Float32Array, series: IntArray, shift: Int32Array) -> list[tuple[Int32Array, Float32Array]]:
    """For each minute of the day the functions that are hit and their counts."""
    minutes = []
    for minute in range(DAY_MINUTES):
        count = days[series, (minute + shift) % DAY_MINUTES]
        rows = np.flatnonzero(count > 0)
        minutes.append((rows.astype(np.int32), count[rows]))
    return minutes


def resident_bytes() -> int:
    """Resident memory of this process now (Linux), elsewhere its peak."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize()
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
