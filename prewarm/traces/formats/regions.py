"""Reader of demand per region and minute: `day, minute, R1, R2, ...` (cold starts of Huawei's public cloud, 2025).

Each region is a series of its own. Absent rows are unknown minutes; so is an empty cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from prewarm.domain import FloatArray, InputError
from prewarm.traces.formats.series import Series, trace_of_series
from prewarm.traces.lines import LineFile, Progress, first_header, named_rows
from prewarm.traces.model import Trace
from prewarm.traces.report import LoadLog
from prewarm.traces.sparse import SparseRows

_REGION = re.compile(r"R\d{1,3}")
DAY = 1440
LAST_DAY = 400
MOST_REGIONS = 64


def is_region_table(header: Iterable[str]) -> bool:
    """Whether the columns are day, minute and regions."""
    names = list(header)
    return {"day", "minute"} <= set(names) and any(_REGION.fullmatch(name) for name in names)


def read_regions(path: Path, *, strict: bool = False, progress: Progress | None = None) -> Trace:
    """One series per region column; InputError where no row is usable, in strict mode for the first broken one."""
    log = LoadLog(strict)
    names = [name for name in first_header(path) if _REGION.fullmatch(name)]
    if not 0 < len(names) <= MOST_REGIONS:
        raise InputError(f"{path}: needs 1 to {MOST_REGIONS} region columns (R1, R2, ...), has {len(names)}")
    table = np.full(((LAST_DAY + 1) * DAY, len(names)), np.nan, dtype=np.float32)
    seen = np.zeros(len(table), dtype=bool)
    with LineFile(path, log, progress) as lines:
        for line, cells in named_rows(lines, log, ["day", "minute", *names]):
            at = _place(cells[:2])
            values = _values(cells[2:])
            if at is None or values is None:
                rule = f"day 0 to {LAST_DAY}, minute 0 to {DAY - 1} and counts of 0 or more are needed"
                log.reject(path, line, rule)
            elif seen[at]:
                log.reject(path, line, "this minute stands there twice")
            else:
                log.accept()
                table[at], seen[at] = values, True
        source = lines.source()
    log.require_rows(path)
    covered = np.flatnonzero(seen)
    start, stop = int(covered[0]), int(covered[-1]) + 1
    block = table[start:stop].T
    owner, minute = np.nonzero((block != 0) & seen[start:stop])
    indptr = np.searchsorted(owner, np.arange(len(names) + 1)).astype(np.int64)
    rows = SparseRows(indptr, minute.astype(np.int32), block[owner, minute])
    return trace_of_series(Series("regions", "region", names, start, rows, seen[start:stop]), [source], log)


def _place(cells: Sequence[str]) -> int | None:
    if not all(cell.isascii() and cell.isdigit() and len(cell) < 6 for cell in cells):
        return None
    day, minute = int(cells[0]), int(cells[1])
    return day * DAY + minute if day <= LAST_DAY and minute < DAY else None


def _values(cells: Sequence[str]) -> FloatArray | None:
    try:
        values = np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return None
    bad = (values < 0) | np.isinf(values) | (values > 1e9)
    return None if bad.any() else values
