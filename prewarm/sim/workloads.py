"""From a trace, as the readers give it, to what the two modes of the simulator run on.

At minute grain that is a dense table of needs. At request grain, single requests are taken where the trace holds them;
a trace of counts is spread: each minute's calls fall evenly at random into their minute, from a seeded generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, InputError
from prewarm.sim.minute import NEED_FLOOR, MinuteWorkload
from prewarm.sim.requests import RequestFunction
from prewarm.sim.startup import StartLaw
from prewarm.traces.model import Trace

MAX_REQUESTS = 200_000_000  # 8 bytes each, four columns


@dataclass(frozen=True, slots=True)
class InstanceKind:
    """What every instance of a replay at request grain is like."""

    concurrency_limit: int
    start: StartLaw


def minute_workload(trace: Trace) -> MinuteWorkload:
    """The needs of a trace (benchmarks A3.1): by mean concurrency where it is given, else 1 in a minute with a call."""
    if trace.step_s != 60:
        raise InputError(f"trace: the minute protocol needs steps of 60 s, has {trace.step_s} s")
    need = trace.need()
    given = trace.dense_concurrency() if trace.concurrency_given else trace.dense_count()
    unknown = np.isnan(given)
    busy = np.where(unknown, 0.0, given).astype(np.float64) if trace.concurrency_given else need.astype(np.float64)
    counted = bool(np.isfinite(trace.totals()).any())
    memory = np.where(trace.memory_imputed & ~trace.concurrency_given, np.nan, trace.memory_mb) / 1000.0
    return MinuteWorkload(
        trace.keys,
        busy,
        need,
        memory,
        trace.start_minute,
        binary=not trace.concurrency_given,
        unknown=unknown if unknown.any() else None,
        calls=np.nan_to_num(trace.dense_count()).astype(np.float64) if counted else None,
    )


def request_functions(trace: Trace, kind: InstanceKind, *, rng: np.random.Generator) -> list[RequestFunction]:
    """Every function's requests with its instances of `kind`; InputError where they would not fit in memory."""
    calls, lasting_s = calls_per_minute(trace)
    total = float(np.nansum(calls))
    if total > MAX_REQUESTS:
        raise InputError(f"trace: {total:.3g} requests are too many for the request mode (at most {MAX_REQUESTS:.0e})")
    functions = []
    for row, stream in enumerate(rng.spawn(trace.functions)):
        arrival, service = _requests_of(trace, row, (calls[row], lasting_s[row]), stream)
        memory_gb = float(trace.memory_mb[row]) / 1000.0
        functions.append(
            RequestFunction(trace.keys[row], arrival, service, kind.concurrency_limit, memory_gb, kind.start)
        )
    return functions


def calls_per_minute(trace: Trace) -> tuple[FloatArray, FloatArray]:
    """Calls (n, T), NaN unknown, and mean duration (n,) in s; calls are concurrency / duration where not counted."""
    lasting_s = trace.duration_ms / 1000.0
    if np.isfinite(trace.totals()).any() or not trace.concurrency_given:
        return trace.dense_count().astype(np.float64), lasting_s
    return calls_of_concurrency(trace.dense_concurrency().astype(np.float64), lasting_s), lasting_s


def calls_of_concurrency(concurrency: FloatArray, lasting_s: FloatArray) -> FloatArray:
    """Calls per minute (n, T) that make up a mean concurrency, at least 1 where there is any; lasting_s: (n,)."""
    busy = np.where(concurrency < NEED_FLOOR, 0.0, concurrency)
    return np.where(busy > 0, np.maximum(np.round(busy * 60.0 / lasting_s[:, None]), 1.0), busy)


def spread(calls: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Sorted moments (s): the calls of each minute (T,) at independent even moments within it; unknown counts as none.

    Given their number, the calls of a Poisson process lie so; the numbers are the trace's own.
    """
    number = np.nan_to_num(np.round(calls)).astype(np.int64)
    minute = np.repeat(np.arange(len(calls)), number)
    moments: FloatArray = np.sort(60.0 * (minute + rng.random(len(minute))))
    return moments


def _requests_of(
    trace: Trace, row: int, spread_of: tuple[FloatArray, float], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """(arrival, service) in s of one function."""
    calls, lasting_s = spread_of
    if trace.requests is None:
        arrival = spread(calls, rng)
        return arrival, np.full(len(arrival), lasting_s)
    mine = trace.requests.function == row
    service = trace.requests.duration_ms[mine].astype(np.float64) / 1000.0
    return trace.requests.start_s[mine], np.where(np.isnan(service), lasting_s, service)
