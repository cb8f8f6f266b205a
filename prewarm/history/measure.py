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
from prewarm.history.segment import hour_segment

_GIB = 1 << 30
_OBSERVED_HOURS = 3
_Minutes = list[tuple[Int32Array, Float32Array]]
"""For each minute of the day the functions that are hit, and their counts."""


@dataclass(frozen=True, slots=True)
class FunctionDays:
    """Distinct days: `count` (series, 1440) calls per minute, `multiplicity` (series,) functions like it."""

    count: Float32Array
    multiplicity: IntArray


@dataclass(frozen=True, slots=True)
class HistorySize:
    """What `measure_gib` found.

    `gib` is the growth of resident memory, `array_gib` the part that the hits' arrays hold (exactly linear in the
    functions); `hits_a_day` is the mean over functions, `sparse_s` the time of a one-day view, `observe_s` of a minute.
    """

    functions: int
    days: int
    gib: float
    array_gib: float
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
    """Fill a history with `days` days and return the growth of the process's resident memory.

    Older hours are loaded at the grain of their age, as after a restart; the last ones are observed minute by minute.
    """
    by_minute = _draw(functions, seed, function_days)
    before = resident_bytes()
    history = History(Retention(), 0)
    for row in range(functions):
        history.index(f"fleet/f{row}")
    last = days * DAY_MINUTES
    _load_hours(history, by_minute, last - 60 * _OBSERVED_HOURS)
    started = time.perf_counter()
    for minute in range(last - 60 * _OBSERVED_HOURS, last):
        history.observe(_batch(by_minute, minute), now_minute=minute)
    observe_s = (time.perf_counter() - started) / (60 * _OBSERVED_HOURS)
    sparse_s, hits = _time_view(history, last)
    gib = (resident_bytes() - before) / _GIB
    arrays = sum(tier.nbytes for block in history.blocks for tier in block.tiers) / _GIB
    return HistorySize(functions, days, gib, arrays, hits / functions, sparse_s, observe_s)


def _batch(by_minute: _Minutes, minute: int) -> MinuteBatch:
    rows, count = by_minute[minute % DAY_MINUTES]
    return MinuteBatch(minute, rows, count, count * np.float32(0.01))


def _load_hours(history: History, by_minute: _Minutes, until: int) -> None:
    """Load all hours before `until`, six at a time, each at the grain that its age has at `until`."""
    borders = history.retention.first_minutes(until)
    for first in range(0, until, 6 * 60):
        step = 60 if first < borders[1] else 5 if first < borders[0] else 1
        segments = []
        for start in range(first, min(first + 6 * 60, until), 60):
            batches = (_batch(by_minute, minute) for minute in range(start, start + 60))
            segment = hour_segment(start, len(history), batches)
            segments.append(segment if step == 1 else segment.coarsened(step))
        history.load(segments)


def _time_view(history: History, now_minute: int) -> tuple[float, int]:
    """Median of seven one-day views in seconds, and the hits in one; the first also pay for fresh memory."""
    times, hits = [], 0
    for _ in range(7):
        started = time.perf_counter()
        hits = history.sparse(now_minute, DAY_MINUTES).hit_minute.size
        times.append(time.perf_counter() - started)
    return sorted(times)[3], hits


def _draw(functions: int, seed: int, function_days: FunctionDays) -> _Minutes:
    rng = np.random.default_rng(seed)
    share = function_days.multiplicity / function_days.multiplicity.sum()
    series = rng.choice(share.size, functions, p=share)
    shift = rng.integers(0, DAY_MINUTES, functions)
    minutes = []
    for minute in range(DAY_MINUTES):
        count = function_days.count[series, (minute + shift) % DAY_MINUTES]
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
