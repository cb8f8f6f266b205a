"""The one value that every reader makes and every replay, training and benchmark takes: a trace by the minute.

Function traces are nearly empty (most functions are idle in most minutes), so counts are kept as compressed sparse
rows and made dense only for the functions asked for. Three kinds of absence stay apart: a minute without an entry was
idle, a minute outside `known` (no file covers it) or with a NaN entry (an empty cell) is unknown, and before
`first_seen` the function did not exist as far as the trace tells.

The need of instances follows protocol A3.1 of the benchmarks: see `Trace.need`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import BoolArray, Float32Array, FloatArray, InputError, Int32Array, IntArray
from prewarm.traces.lines import SourceFile
from prewarm.traces.report import LoadReport

NO_CONCURRENCY = 1.6e-5  # FeMux's rule: a mean concurrency under this is none
DEFAULT_DURATION_MS = 703.0  # median of the public duration marginal (10,000 functions, Azure 2019)
DEFAULT_MEMORY_MB = 143.0  # median of the public memory marginal (10,000 apps, Azure 2019)
SUB_MILLISECOND_MS = 0.5  # what a measured duration of 0 ms stands for

Scalar = TypeVar("Scalar", np.float32, np.int32)
NeedRule = Literal["auto", "concurrency", "called"]


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Single requests sorted by start: index of the function, start in seconds since `start_minute`, duration in ms.

    A duration that the file did not hold is NaN.
    """

    function: Int32Array
    start_s: FloatArray
    duration_ms: Float32Array


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Invocations of n functions over `minutes` minutes.

    `start_minute` counts from the epoch where the file tells the time (request logs, synthetic sets), else from
    midnight of the first day of the public data set, so `start_minute % 1440` is the minute of the day either way.
    Sparse rows: entries indptr[i]:indptr[i+1] of `minute` (rising, relative to the start), `count` and `concurrency`
    (mean over the minute) belong to function i. `count` is NaN throughout where the file holds concurrency only;
    `concurrency` is count x duration / 60,000 where `concurrency_given` is False.
    `labels` are the identifiers as they stand in the file. `multiplicity`: how often a series occurs, where known.
    """

    format: str
    keys: tuple[str, ...]
    labels: tuple[str, ...]
    start_minute: int
    minutes: int
    step_s: int
    indptr: IntArray
    minute: Int32Array
    count: Float32Array
    concurrency: Float32Array
    concurrency_given: bool
    memory_mb: FloatArray
    duration_ms: FloatArray
    memory_imputed: BoolArray
    duration_imputed: BoolArray
    first_seen: Int32Array
    trigger: tuple[str, ...]
    known: BoolArray
    sources: tuple[SourceFile, ...]
    sha256: str
    report: LoadReport
    multiplicity: IntArray | None = None
    requests: Requests | None = None

    @property
    def functions(self) -> int:
        """How many functions there are."""
        return len(self.keys)

    def totals(self) -> FloatArray:
        """Invocations per function over the trace (n,), unknown minutes left out; NaN where counts are not given."""
        if self.count.size and np.isnan(self.count).all():
            return np.full(self.functions, np.nan)
        sums = np.concatenate(([0.0], np.cumsum(np.nan_to_num(self.count.astype(np.float64)))))
        return sums[self.indptr[1:]] - sums[self.indptr[:-1]]

    def need_entries(self, concurrency_limit: float = 1, *, rule: NeedRule = "auto") -> Int32Array:
        """Instances needed at each sparse entry (nnz,); rules as in `need`."""
        if concurrency_limit <= 0:
            raise InputError(f"concurrency limit: must be above 0, is {concurrency_limit}")
        called = self.count > 0
        if rule == "called" or (rule == "auto" and not self.concurrency_given):
            return called.astype(np.int32)
        busy = np.nan_to_num(self.concurrency)
        needed = np.where(busy >= NO_CONCURRENCY, np.ceil(busy / np.float32(concurrency_limit)), 0).astype(np.int32)
        return np.maximum(needed, called)

    def need(self, concurrency_limit: float = 1, *, rule: NeedRule = "auto", rows: slice = slice(None)) -> Int32Array:
        """Instances needed per minute, dense (functions in `rows`, minutes); 0 where idle or unknown (see `known`).

        `concurrency`: ceil(mean concurrency / limit), values under 1.6e-5 being none, and at least 1 in a minute with
        a call. `called`: 1 in a minute with a call (the function-level sets). `auto` takes the first where the trace
        gives concurrency and the second otherwise (benchmarks A3.1).
        """
        return self._dense(self.need_entries(concurrency_limit, rule=rule), rows, np.int32(0))

    def dense_count(self, rows: slice = slice(None)) -> Float32Array:
        """Counts (functions in `rows`, minutes), NaN where unknown."""
        return self._with_unknown(self._dense(self.count, rows, np.float32(0)))

    def dense_concurrency(self, rows: slice = slice(None)) -> Float32Array:
        """Mean concurrency (functions in `rows`, minutes), NaN where unknown."""
        return self._with_unknown(self._dense(self.concurrency, rows, np.float32(0)))

    def row_chunks(self, cells: int = 8_000_000) -> Iterator[slice]:
        """Slices of functions whose dense block has at most about `cells` cells."""
        rows = max(1, cells // max(1, self.minutes))
        for start in range(0, self.functions, rows):
            yield slice(start, min(start + rows, self.functions))

    def select(self, rows: IntArray | BoolArray) -> Trace:
        """The trace of some functions, in the order asked for (a mask keeps the order); requests are filtered too."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64)
        lengths = np.diff(self.indptr)[index]
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        entries = np.repeat(self.indptr[index] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return replace(
            self,
            keys=tuple(self.keys[i] for i in index),
            labels=tuple(self.labels[i] for i in index),
            trigger=tuple(self.trigger[i] for i in index),
            indptr=indptr,
            minute=self.minute[entries],
            count=self.count[entries],
            concurrency=self.concurrency[entries],
            memory_mb=self.memory_mb[index],
            duration_ms=self.duration_ms[index],
            memory_imputed=self.memory_imputed[index],
            duration_imputed=self.duration_imputed[index],
            first_seen=self.first_seen[index],
            multiplicity=None if self.multiplicity is None else self.multiplicity[index],
            requests=_select_requests(self.requests, index, self.functions),
        )

    def window(self, start: int, stop: int) -> Trace:
        """Minutes start..stop-1 of every function, as if the file had held only them; no value is derived anew."""
        if not 0 <= start < stop <= self.minutes:
            raise InputError(f"window: must lie within 0..{self.minutes}, is {start}..{stop}")
        kept = (self.minute >= start) & (self.minute < stop)
        before = np.concatenate(([0], np.cumsum(kept)))
        return replace(
            self,
            start_minute=self.start_minute + start,
            minutes=stop - start,
            indptr=before[self.indptr],
            minute=self.minute[kept] - np.int32(start),
            count=self.count[kept],
            concurrency=self.concurrency[kept],
            first_seen=np.clip(self.first_seen - start, 0, stop - start).astype(np.int32),
            known=self.known[start:stop],
            requests=_cut_requests(self.requests, start * self.step_s, stop * self.step_s),
        )

    def _dense(self, values: NDArray[Scalar], rows: slice, idle: Scalar) -> NDArray[Scalar]:
        first, last, _ = rows.indices(self.functions)
        span = slice(int(self.indptr[first]), int(self.indptr[max(first, last)]))
        block = np.full((max(0, last - first), self.minutes), idle)
        owner = np.repeat(np.arange(len(block)), np.diff(self.indptr[first : max(first, last) + 1]))
        block[owner, self.minute[span]] = values[span]
        return block

    def _with_unknown(self, block: Float32Array) -> Float32Array:
        block[:, ~self.known] = np.nan
        return block


def derive_concurrency(count: Float32Array, indptr: IntArray, duration_ms: FloatArray) -> Float32Array:
    """Mean concurrency at each sparse entry from its count and the function's mean duration (nnz,)."""
    busy = np.empty(len(count), dtype=np.float32)
    rows_at_once = 1024
    for first in range(0, len(duration_ms), rows_at_once):
        edges = indptr[first : first + rows_at_once + 1]
        entries = slice(edges[0], edges[-1])
        spent_ms = np.repeat(duration_ms[first : first + rows_at_once], np.diff(edges))
        # in double precision and multiplied first: 90 calls of 2,000 ms are 3, and not a little more
        busy[entries] = count[entries] * spent_ms / 60_000
    return busy


def _select_requests(requests: Requests | None, index: IntArray, functions: int) -> Requests | None:
    if requests is None:
        return None
    place = np.full(functions, -1, dtype=np.int32)
    place[index] = np.arange(len(index), dtype=np.int32)
    kept = place[requests.function] >= 0
    return Requests(place[requests.function[kept]], requests.start_s[kept], requests.duration_ms[kept])


def _cut_requests(requests: Requests | None, start_s: float, stop_s: float) -> Requests | None:
    if requests is None:
        return None
    kept = (requests.start_s >= start_s) & (requests.start_s < stop_s)
    return Requests(requests.function[kept], requests.start_s[kept] - start_s, requests.duration_ms[kept])
