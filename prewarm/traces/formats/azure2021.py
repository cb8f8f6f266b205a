"""Reader of the Azure Functions 2021 trace: one row per invocation (app, func, end_timestamp, duration; seconds).

The file gives the end of each invocation, so its start is end minus duration; a few began before the trace did, so the
first minute may be negative. Times count from the start of the collection, whose date the file does not hold.
"""

from __future__ import annotations

import math
from pathlib import Path

from prewarm.traces.formats.requests import LONGEST_REQUEST_S, RequestColumns, trace_from_requests
from prewarm.traces.lines import LineFile, Progress, named_rows
from prewarm.traces.model import Trace
from prewarm.traces.report import LoadLog

COLUMNS = ("app", "func", "end_timestamp", "duration")
LATEST_S = 1e11


def read_azure2021(path: Path, *, strict: bool = False, progress: Progress | None = None) -> Trace:
    """The per-invocation trace in `path`; InputError where no row is usable, or (strict) for the first broken one."""
    log = LoadLog(strict)
    columns = RequestColumns()
    with LineFile(path, log, progress) as lines:
        for line, (app, func, end, duration) in named_rows(lines, log, COLUMNS):
            end_s, duration_s = _seconds(end), _seconds(duration)
            if not func:
                log.reject(path, line, "func must not be empty")
            elif end_s is None:
                log.reject(path, line, f"end_timestamp: must be seconds, is {end[:40]!r}")
            elif duration_s is None or not 0 <= duration_s <= LONGEST_REQUEST_S:
                log.reject(path, line, f"duration: must be 0 to {LONGEST_REQUEST_S} seconds, is {duration[:40]!r}")
            else:
                log.accept()
                columns.add((app, func), end_s - duration_s, duration_s, line)
        source = lines.source()
    log.require_rows(path)
    return trace_from_requests("azure2021", columns, path, log, source)


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= LATEST_S else None
