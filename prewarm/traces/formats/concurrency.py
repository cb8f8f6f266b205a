"""Reader of a concurrency matrix: mean concurrency per app and minute, as FeMux publishes it (EuroSys'26 artefact).

The matrix has `app_id` and columns 0 to 1439. It holds neither calls nor memory, so counts stay unknown (NaN) and the
memory comes from a second table (`app_id`, `avg_mem_mb`), without which the documented default is used and marked.
The published result covers 93 of the 100 apps; `in_femux_result` in that table tells which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prewarm.domain import InputError
from prewarm.traces.formats.matrix import MatrixFile
from prewarm.traces.formats.series import Series, trace_of_series
from prewarm.traces.lines import LineFile, Progress, SourceFile, first_header, named_rows
from prewarm.traces.model import DEFAULT_MEMORY_MB, Trace
from prewarm.traces.report import LoadLog
from prewarm.traces.sparse import SparseGrower

ID_COLUMN = "app_id"
MEMORY_COLUMN = "avg_mem_mb"
RESULT_COLUMN = "in_femux_result"
_LARGEST_MEMORY_MB = 1e9


@dataclass(frozen=True, slots=True)
class _App:
    memory_mb: float | None
    in_result: bool


def read_concurrency(
    path: Path,
    apps: Path | None = None,
    *,
    only_published: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Trace:
    """The matrix in `path` with memory from `apps`; `only_published` keeps the apps of FeMux's published result.

    InputError where no row is usable, `only_published` lacks its table, or (strict) for the first broken row.
    """
    log = LoadLog(strict)
    if only_published and apps is None:
        raise InputError(f"{path}: the published apps are told by the table of apps, which is not given")
    table, sources = _read_apps(apps, log, progress, published=only_published) if apps else ({}, [])
    labels: dict[str, int] = {}
    grower = SparseGrower()
    with LineFile(path, log, progress) as lines:
        matrix = MatrixFile(lines, log, [ID_COLUMN], whole=False)
        for row in matrix.rows():
            label = row.cells[0]
            app = table.get(label)
            if only_published and not (app and app.in_result):
                continue
            if label in labels or not label:
                log.reject(path, row.line, f"{ID_COLUMN}: {'stands there twice' if label else 'must not be empty'}")
                continue
            log.accept()
            grower.add(labels.setdefault(label, len(labels)), row.minute, row.value)
        sources.insert(0, lines.source())
    log.require_rows(path)
    return _finish(labels, grower, table, matrix, (sources, log))


def _finish(
    labels: Mapping[str, int],
    grower: SparseGrower,
    table: Mapping[str, _App],
    matrix: MatrixFile,
    account: tuple[list[SourceFile], LoadLog],
) -> Trace:
    sources, log = account
    start, last = int(matrix.minutes[0]), int(matrix.minutes[-1])
    known = np.zeros(last - start + 1, dtype=bool)
    known[matrix.minutes - start] = True
    series = Series("concurrency", "app", tuple(labels), start, grower.finish(len(labels), start), known)
    memory = np.array([app.memory_mb if (app := table.get(label)) and app.memory_mb else np.nan for label in labels])
    absent = np.isnan(memory)
    plain = trace_of_series(series, sources, log)
    log.count("no memory", -int((~absent).sum()))
    return replace(
        plain,
        count=np.full(len(plain.count), np.nan, dtype=np.float32),
        concurrency=series.rows.value,
        concurrency_given=True,
        memory_mb=np.where(absent, DEFAULT_MEMORY_MB, memory),
        memory_imputed=absent,
        report=log.result(),
    )


def _read_apps(
    path: Path, log: LoadLog, progress: Progress | None, *, published: bool
) -> tuple[dict[str, _App], list[SourceFile]]:
    header = first_header(path)
    flagged = RESULT_COLUMN in header
    if published and not flagged:
        raise InputError(f"{path}: has no column {RESULT_COLUMN!r}")
    table: dict[str, _App] = {}
    with LineFile(path, log, progress) as lines:
        wanted = [ID_COLUMN, MEMORY_COLUMN, *([RESULT_COLUMN] if flagged else [])]
        for line, cells in named_rows(lines, log, wanted):
            memory = _memory(cells[1])
            if cells[0] in table:
                log.reject(path, line, f"{ID_COLUMN}: stands there twice")
            elif cells[1] and memory is None:
                log.reject(path, line, f"{MEMORY_COLUMN}: must be above 0 MB, is {cells[1][:40]!r}")
            else:
                table[cells[0]] = _App(memory, flagged and cells[2] in {"1", "1.0", "true", "True"})
        return table, [lines.source()]


def _memory(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= _LARGEST_MEMORY_MB else None
