"""A seeded synthetic trace with the shapes of production, for what public traces cannot show.

Public function traces are a day long and nearly 0/1, so the calendar, the week, repeating promotions, concurrency and
chains of calls are measured on a synthetic set, always labelled so. The same seed gives the same counts everywhere:
each purpose draws from its own stream, and rates are rounded before counts are drawn.

The frozen set of the benchmarks is `synthesize(2026, 2000, 14)`: it begins on a Monday, and the clocks of its time zone
change on its seventh day.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from numpy.random import Generator

from prewarm.domain import FloatArray, FunctionKey, InputError, IntArray
from prewarm.settings import Call
from prewarm.traces.calendar_entries import CalendarEntry
from prewarm.traces.generate.chains import Edge, called_by, draw_edges
from prewarm.traces.generate.clock import LocalClock, local_clock
from prewarm.traces.generate.population import Population, draw_population
from prewarm.traces.generate.promotions import Event, promoted
from prewarm.traces.generate.shapes import bursts, growing, intermittent, once, seasonal, timer
from prewarm.traces.keys import make_key
from prewarm.traces.model import Trace, derive_concurrency
from prewarm.traces.report import LoadReport
from prewarm.traces.sparse import SparseGrower, SparseRows

FROZEN_SEED = 2026
FROZEN_FUNCTIONS = 2000
FROZEN_DAYS = 14
FIRST_MONDAY = datetime(2026, 3, 23, tzinfo=UTC)
MOST_FUNCTIONS = 100_000
MOST_DAYS = 366
MOST_INSTANCES = 200  # chosen: what one function may need in a minute; a longer duration is cut
_CALLERS = ("timer", "seasonal", "bursts", "promotion", "intermittent")
_POPULATION, _SERIES, _CHAINS = range(3)  # streams of random numbers


@dataclass(frozen=True, slots=True)
class SyntheticTrace:
    """A trace with the truth behind it: its service graph, its announcements, and the shape of each function."""

    trace: Trace
    graph: tuple[Call, ...]
    calendar: tuple[CalendarEntry, ...]
    shapes: tuple[str, ...]
    timezone: str
    seed: int


@dataclass(slots=True)
class _Drawn:
    """What was drawn so far, by the population's index: sparse counts, first minutes and announcements."""

    minutes: int
    minute: dict[int, IntArray] = field(default_factory=dict)
    count: dict[int, IntArray] = field(default_factory=dict)
    first_seen: dict[int, int] = field(default_factory=dict)
    events: dict[int, tuple[Event, ...]] = field(default_factory=dict)

    def keep(self, at: int, counts: IntArray) -> None:
        self.minute[at] = np.flatnonzero(counts)
        self.count[at] = counts[self.minute[at]]

    def dense(self, at: int) -> IntArray:
        counts = np.zeros(self.minutes, dtype=np.int64)
        if at in self.minute:
            counts[self.minute[at]] = self.count[at]
        return counts


def synthesize(
    seed: int = FROZEN_SEED,
    functions: int = FROZEN_FUNCTIONS,
    *,
    days: int = FROZEN_DAYS,
    start: datetime = FIRST_MONDAY,
    timezone: str = "Europe/Berlin",
) -> SyntheticTrace:
    """`functions` functions over `days` days from `start` (a midnight in UTC); people live by `timezone`.

    InputError where a number is out of range or the zone is unknown.
    """
    for name, value, most in (("functions", functions, MOST_FUNCTIONS), ("days", days, MOST_DAYS)):
        if not 1 <= value <= most:
            raise InputError(f"{name}: must be 1 to {most}, is {value}")
    if seed < 0:
        raise InputError(f"seed: must be 0 or more, is {seed}")
    clock = local_clock(start, days, timezone)
    population = draw_population(np.random.default_rng([seed, _POPULATION]), functions)
    drawn = _Drawn(clock.minutes)
    for at in range(functions):
        _draw_own(np.random.default_rng([seed, _SERIES, at]), population, clock, at, drawn=drawn)
    edges = _draw_chains(np.random.default_rng([seed, _CHAINS]), population, drawn)
    return _assemble(population, clock, drawn, edges, seed=seed)


def _draw_own(rng: Generator, population: Population, clock: LocalClock, at: int, *, drawn: _Drawn) -> None:
    """The series of a function that is not called by others."""
    shape, total = population.shape[at], float(population.daily_total[at])
    laws = {"timer": timer, "seasonal": seasonal, "bursts": bursts, "intermittent": intermittent}
    if shape in laws:
        drawn.keep(at, laws[shape](rng, clock, total))
    elif shape == "promotion":
        counts, drawn.events[at] = promoted(rng, clock, total, float(population.duration_ms[at]))
        drawn.keep(at, counts)
    elif shape == "growth":
        counts, drawn.first_seen[at] = growing(rng, clock, total)
        drawn.keep(at, counts)
    elif shape == "once":
        drawn.keep(at, once(rng, clock))


def _draw_chains(rng: Generator, population: Population, drawn: _Drawn) -> list[Edge]:
    """The edges, and the series of every callee from those of its callers."""
    callees = [int(at) for at in rng.permutation(population.of_shape("chain"))]
    edges = draw_edges(
        rng,
        population.daily_total,
        callees=callees,
        callers=population.of_shape(*_CALLERS),
        trigger_of=lambda at: population.trigger[at],
    )
    for edge in edges:
        made = called_by(rng, drawn.dense(edge.caller), edge)
        drawn.keep(edge.callee, drawn.dense(edge.callee) + made)
    for at in callees:
        if at not in drawn.minute:
            drawn.keep(at, drawn.dense(at))
    return edges


def _assemble(
    population: Population, clock: LocalClock, drawn: _Drawn, edges: list[Edge], *, seed: int
) -> SyntheticTrace:
    """Names and order: functions deployed later stand behind, as a reader of day files would meet them."""
    functions = len(population.shape)
    first_seen = np.array([drawn.first_seen.get(at, 0) for at in range(functions)], dtype=np.int32)
    order = np.argsort(first_seen, kind="stable")
    keys = {int(at): make_key(f"app{population.app[at]:05d}", f"fn{i:05d}") for i, at in enumerate(order)}
    grower = SparseGrower()
    for i, at in enumerate(order):
        grower.add(i, drawn.minute[int(at)], drawn.count[int(at)])
    rows = grower.finish(functions, 0)
    duration = _bounded_duration(population.duration_ms[order], rows)
    trace = Trace(
        format="synthetic",
        keys=tuple(keys[int(at)] for at in order),
        labels=tuple(keys[int(at)].partition("/")[2] for at in order),
        start_minute=clock.start_minute,
        minutes=clock.minutes,
        step_s=60,
        indptr=rows.indptr,
        minute=rows.minute,
        count=rows.value,
        concurrency=derive_concurrency(rows.value, rows.indptr, duration),
        concurrency_given=False,
        memory_mb=population.memory_mb[order],
        duration_ms=duration,
        memory_imputed=np.zeros(functions, dtype=bool),
        duration_imputed=np.zeros(functions, dtype=bool),
        first_seen=first_seen[order],
        trigger=tuple(population.trigger[at] for at in order),
        known=np.ones(clock.minutes, dtype=bool),
        sources=(),
        sha256=_digest(rows.indptr, rows.minute, rows.value),
        report=LoadReport(rows_read=functions),
    )
    graph = tuple(Call(keys[edge.caller], keys[edge.callee], edge.calls, edge.delay_s) for edge in edges)
    calendar = [_entry(keys[at], event, clock) for at, events in drawn.events.items() for event in events]
    ordered = tuple(sorted(calendar, key=lambda entry: (entry.start_minute, entry.function)))
    shapes = tuple(population.shape[at] for at in order)
    return SyntheticTrace(trace, graph, ordered, shapes, clock.timezone, seed)


def _bounded_duration(duration_ms: FloatArray, rows: SparseRows) -> FloatArray:
    """Durations cut so that no minute needs more than `MOST_INSTANCES`; whole milliseconds, 1 at least."""
    peak = np.ones(len(duration_ms))
    owner = np.repeat(np.arange(len(duration_ms)), np.diff(rows.indptr))
    np.maximum.at(peak, owner, rows.value.astype(np.float64))
    return np.maximum(1, np.minimum(duration_ms, np.floor(MOST_INSTANCES * 60_000 / peak)))


def _entry(key: FunctionKey, event: Event, clock: LocalClock) -> CalendarEntry:
    begin = clock.start_minute
    times = (begin + event.start, begin + event.end, begin + event.announced)
    return CalendarEntry(key, "promotion", *times, event.peak_per_minute)


def _digest(*arrays: np.ndarray) -> str:
    """sha256 of the arrays as little-endian bytes: the identity of a trace that has no file."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()
