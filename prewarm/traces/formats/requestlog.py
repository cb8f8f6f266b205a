"""Reader of request logs: a CSV with a time stamp and a function per request, optionally its duration.

The log of any gateway can be brought into this shape with one query. Columns by name, any order, more may stand
there: the time as `timestamp`, `time` or `ts`; the function as `function`, `function_name`, `func` or `service`;
`namespace`; `duration_ms` or `duration_s`; `id`, `request_id` or `trace_id`. A time is RFC 3339 with a zone, or
seconds, milli-, micro- or nanoseconds since the epoch, told apart by size. Rules:

- rows may be unsorted; with an id column, a repeated id is one request; without one, equal rows are calls of their own,
  since two calls may share a time stamp;
- a silent stretch is zero calls: a log cannot tell it from an outage. The report names the longest silence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from prewarm.domain import InputError, parse_time
from prewarm.traces.formats.requests import LONGEST_REQUEST_S, RequestColumns, trace_from_requests
from prewarm.traces.lines import LineFile, Progress, first_header, named_rows
from prewarm.traces.model import Trace
from prewarm.traces.report import LoadLog

TIME_NAMES = ("timestamp", "time", "ts")
FUNCTION_NAMES = ("function", "function_name", "func", "service")
ID_NAMES = ("id", "request_id", "trace_id")
DURATION_SCALE = {"duration_ms": 0.001, "duration_s": 1.0}
_EPOCH_SCALES = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3), (0.0, 1.0))
LATEST_S = 4_102_444_800.0  # the year 2100


def is_request_log(header: Iterable[str]) -> bool:
    """Whether the columns are those of a request log."""
    names = list(header)
    return _pick(names, TIME_NAMES) is not None and _pick(names, FUNCTION_NAMES) is not None


def read_request_log(path: Path, *, strict: bool = False, progress: Progress | None = None) -> Trace:
    """The log in `path`; InputError where no row is usable or a column is missing, or (strict) for the first."""
    log = LoadLog(strict)
    header = first_header(path)
    time, function = _pick(header, TIME_NAMES), _pick(header, FUNCTION_NAMES)
    if time is None or function is None:
        raise InputError(f"{path}: needs a column of {TIME_NAMES} and one of {FUNCTION_NAMES}")
    duration = _pick(header, tuple(DURATION_SCALE))
    optional = [name for name in (_pick(header, ("namespace",)), duration, _pick(header, ID_NAMES)) if name]
    columns = RequestColumns()
    with LineFile(path, log, progress) as lines:
        taker = _Taker(path, log, columns, [time, function, *optional], duration)
        for line, cells in named_rows(lines, log, taker.names):
            taker.take(line, cells)
        source = lines.source()
    log.require_rows(path)
    return trace_from_requests("requestlog", columns, path, log, source)


class _Taker:
    """Turns the cells of a row into a request, or a rejection."""

    def __init__(
        self, path: Path, log: LoadLog, columns: RequestColumns, names: Sequence[str], duration: str | None
    ) -> None:
        self.names = names
        self._path = path
        self._log = log
        self._columns = columns
        self._namespace = names.index("namespace") if "namespace" in names else None
        self._duration = names.index(duration) if duration else None
        self._scale = DURATION_SCALE[duration] if duration else 1.0
        self._id = next((at for at, name in enumerate(names) if name in ID_NAMES), None)
        self._ids: set[int] = set()

    def take(self, line: int, cells: Sequence[str]) -> None:
        try:
            start_s = epoch_seconds(cells[0])
            duration_s = self._seconds_spent(cells)
            if not cells[1]:
                raise InputError("function: must not be empty")
        except InputError as error:
            self._log.reject(self._path, line, str(error))
            return
        self._log.accept()
        if self._id is not None and cells[self._id]:
            identity = hash(cells[self._id])
            if identity in self._ids:
                self._log.count("repeated ids")
                return
            self._ids.add(identity)
        self._columns.add(self._function(cells), start_s, duration_s, line)

    def _function(self, cells: Sequence[str]) -> tuple[str, str]:
        name = cells[1]
        if self._namespace is not None and cells[self._namespace]:
            return cells[self._namespace], name
        namespace, slash, rest = name.partition("/")
        return (namespace, rest) if slash and namespace and rest else ("log", name)

    def _seconds_spent(self, cells: Sequence[str]) -> float:
        if self._duration is None or not cells[self._duration]:
            return float("nan")
        try:
            value = float(cells[self._duration]) * self._scale
        except ValueError:
            value = float("nan")
        if not 0 <= value <= LONGEST_REQUEST_S:
            raise InputError(f"duration: must be 0 to {LONGEST_REQUEST_S} s, is {cells[self._duration][:40]!r}")
        return value


def epoch_seconds(text: str) -> float:
    """Seconds since the epoch of RFC 3339 or a number in s, ms, us or ns; InputError where it is neither."""
    try:
        number = float(text)
    except ValueError:
        return parse_time(text, "timestamp")
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"timestamp: must be a time since the epoch, is {text[:40]!r}")
    seconds = number * next(scale for least, scale in _EPOCH_SCALES if number >= least)
    if seconds > LATEST_S:
        raise InputError(f"timestamp: is after the year 2100: {text[:40]!r}")
    return seconds


def _pick(header: Sequence[str], names: Sequence[str]) -> str | None:
    """The first of the names that is a column."""
    return next((name for name in names if name in header), None)
