"""From single requests to counts and mean concurrency per minute.

Request files are the only ones from which the true concurrency of a minute can be had: the share of it that each
request was executing. Requests come unsorted; they are held in typed columns (24 bytes each), sorted once, and spread
over the minutes that they touch in chunks, so one long request costs its minutes and not a dense matrix.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from prewarm.domain import BoolArray, FloatArray, InputError, Int32Array, IntArray
from prewarm.traces.keys import unique_keys
from prewarm.traces.lines import SourceFile, combined_digest
from prewarm.traces.model import DEFAULT_DURATION_MS, DEFAULT_MEMORY_MB, Requests, Trace
from prewarm.traces.report import LoadLog
from prewarm.traces.sparse import SparseRows

LONGEST_REQUEST_S = 7 * 86_400
LONGEST_SPAN_DAYS = 400
_CHUNK = 2_000_000  # request-minutes spread at once


@dataclass(slots=True)
class RequestColumns:
    """Requests as they are read: function, start (s), duration (s, NaN if the file has none), line in the file."""

    parts: dict[tuple[str, str], int] = field(default_factory=dict)
    function: array[int] = field(default_factory=lambda: array("i"))
    start_s: array[float] = field(default_factory=lambda: array("d"))
    duration_s: array[float] = field(default_factory=lambda: array("d"))
    line: array[int] = field(default_factory=lambda: array("i"))

    def add(self, part: tuple[str, str], start_s: float, duration_s: float, line: int) -> None:
        """One request of the function that the file calls `part` = (namespace, name)."""
        self.function.append(self.parts.setdefault(part, len(self.parts)))
        self.start_s.append(start_s)
        self.duration_s.append(duration_s)
        self.line.append(line)


@dataclass(frozen=True, slots=True, eq=False)
class _Sorted:
    """Requests in order of start; start_s relative to the trace's first minute."""

    function: Int32Array
    start_s: FloatArray
    duration_s: FloatArray
    start_minute: int
    functions: int


def trace_from_requests(form: str, columns: RequestColumns, path: Path, log: LoadLog, source: SourceFile) -> Trace:
    """The trace of the requests of one file; InputError when none is left.

    A function without any known duration takes the default, one with some takes their mean for the others. Requests
    more than 400 days from the median start are rejected as broken time stamps.
    """
    ordered, present = _in_order(columns, path, log)
    requests, start = ordered, ordered.start_minute
    duration_ms, imputed = _mean_durations(requests)
    absent = np.isnan(requests.duration_s)
    log.count("requests without a duration", int(absent.sum()))
    log.count("no duration", int(imputed.sum()))
    log.count("no memory", requests.functions)
    spent_s = np.where(absent, duration_ms[requests.function] / 1000, requests.duration_s)
    minutes = int(np.max((requests.start_s + spent_s) // 60)) + 1
    count, busy = _by_minute(requests, spent_s, minutes)
    first = np.full(requests.functions, minutes, dtype=np.int32)
    np.minimum.at(first, requests.function, (requests.start_s // 60).astype(np.int32))
    parts = [part for part, kept in zip(columns.parts, present, strict=True) if kept]
    return Trace(
        format=form,
        keys=unique_keys([("", *part) for part in parts]),
        labels=tuple(name for _, name in parts),
        start_minute=start,
        minutes=minutes,
        step_s=60,
        indptr=count.indptr,
        minute=count.minute,
        count=count.value,
        concurrency=busy.value,
        concurrency_given=not bool(absent.all()),
        memory_mb=np.full(requests.functions, DEFAULT_MEMORY_MB),
        duration_ms=duration_ms,
        memory_imputed=np.ones(requests.functions, dtype=bool),
        duration_imputed=imputed,
        first_seen=first,
        trigger=("",) * requests.functions,
        known=np.ones(minutes, dtype=bool),
        sources=(source,),
        sha256=combined_digest([source]),
        report=log.result(),
        requests=Requests(requests.function, requests.start_s, (requests.duration_s * 1000).astype(np.float32)),
    )


def _in_order(columns: RequestColumns, path: Path, log: LoadLog) -> tuple[_Sorted, BoolArray]:
    """Requests sorted by start, and which of the functions still have one."""
    start = np.array(columns.start_s)
    if not len(start):
        log.require_rows(path)
        raise InputError(f"{path}: no usable row in it")
    middle = np.sort(start)[(len(start) - 1) // 2]  # a time stamp of the file, so that one row is left at least
    far = np.abs(start - middle) > LONGEST_SPAN_DAYS * 86_400
    for at in np.flatnonzero(far):
        log.reject(path, columns.line[at], f"is more than {LONGEST_SPAN_DAYS} days from the other time stamps")
    log.rows_read -= int(far.sum())
    kept = np.flatnonzero(~far)
    order = kept[np.argsort(start[kept], kind="stable")]
    log.count("rows out of order", int((np.diff(start[kept]) < 0).sum()))
    function = np.array(columns.function, dtype=np.int32)[order]
    present = np.bincount(function, minlength=len(columns.parts)) > 0
    renumbered = (np.cumsum(present) - 1).astype(np.int32)
    first = int(start[order[0]] // 60)
    gap_minutes = np.diff(start[order], prepend=start[order[0]]).max() / 60
    log.count("longest silence in minutes", int(gap_minutes))
    duration = np.array(columns.duration_s)[order]
    return _Sorted(renumbered[function], start[order] - first * 60, duration, first, int(present.sum())), present


def _mean_durations(requests: _Sorted) -> tuple[FloatArray, BoolArray]:
    """Mean known duration per function (ms) and whether it was imputed for want of any."""
    known = ~np.isnan(requests.duration_s)
    calls = np.bincount(requests.function[known], minlength=requests.functions)
    total = np.bincount(requests.function[known], weights=requests.duration_s[known], minlength=requests.functions)
    absent = calls == 0
    return np.where(absent, DEFAULT_DURATION_MS, 1000 * total / np.maximum(calls, 1)), absent


def _by_minute(requests: _Sorted, spent_s: FloatArray, minutes: int) -> tuple[SparseRows, SparseRows]:
    """(count of starts, mean concurrency) over the same sparse entries."""
    first = (requests.start_s // 60).astype(np.int64)
    end_s = requests.start_s + spent_s
    last = np.maximum(np.ceil(end_s / 60).astype(np.int64) - 1, first)
    cell = [requests.function * np.int64(minutes) + first]
    started, busy = [np.ones(len(first))], [np.zeros(len(first))]
    for chunk in _chunks(last - first + 1):
        width = (last - first + 1)[chunk]
        owner = np.repeat(np.arange(chunk.start, chunk.stop), width)
        minute = first[owner] + np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        overlap = np.minimum(end_s[owner], (minute + 1) * 60.0) - np.maximum(requests.start_s[owner], minute * 60.0)
        cells, place = np.unique(requests.function[owner] * np.int64(minutes) + minute, return_inverse=True)
        cell.append(cells)
        started.append(np.zeros(len(cells)))
        busy.append(np.bincount(place, weights=np.maximum(overlap, 0)) / 60)
    cells, place = np.unique(np.concatenate(cell), return_inverse=True)
    owner = cells // minutes
    indptr = np.searchsorted(owner, np.arange(requests.functions + 1)).astype(np.int64)
    column = (cells - owner * minutes).astype(np.int32)
    sums = [np.bincount(place, weights=np.concatenate(part)).astype(np.float32) for part in (started, busy)]
    return SparseRows(indptr, column, sums[0]), SparseRows(indptr, column, sums[1])


def _chunks(widths: IntArray) -> Sequence[slice]:
    """Slices of requests whose minutes together are about `_CHUNK`, at least one request each."""
    group = np.cumsum(widths) // _CHUNK
    edges = np.concatenate(([0], np.flatnonzero(np.diff(group)) + 1, [len(widths)]))
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(edges) if b > a]
