"""Reader of day exemplars: one series per distinct daily total, with how often that total occurs.

`series_id, daily_total, 1..1440` as cut from samples of Azure 2019; a second table beside it
(`day_*_multiplicity.csv`: `series_id` and columns `count_in_sample_*`) tells how many functions of a sample have that
series. A series that is in no sample has multiplicity 0; without the table it is unknown (None). No app, trigger,
duration or memory is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from prewarm.domain import IntArray
from prewarm.traces.formats.matrix import MatrixFile
from prewarm.traces.formats.series import Series, trace_of_series
from prewarm.traces.lines import LineFile, Progress, SourceFile, first_header, named_rows
from prewarm.traces.model import Trace
from prewarm.traces.report import LoadLog
from prewarm.traces.sparse import SparseGrower

ID_COLUMN = "series_id"
TOTAL_COLUMN = "daily_total"
_SAMPLE_PREFIX = "count_in_sample"


def read_exemplars(
    path: Path, multiplicity: Path | None = None, *, strict: bool = False, progress: Progress | None = None
) -> Trace:
    """The exemplars in `path`, each with its occurrences summed over the samples of the `multiplicity` table.

    The table is looked for beside the file when not given. A series whose minutes do not add up to its `daily_total` is
    rejected. InputError where no row is usable, or (strict) for the first broken row.
    """
    log = LoadLog(strict)
    labels: dict[str, int] = {}
    grower = SparseGrower()
    with LineFile(path, log, progress) as lines:
        matrix = MatrixFile(lines, log, [ID_COLUMN, TOTAL_COLUMN], whole=True)
        for row in matrix.rows():
            label, total = row.cells
            if label in labels or not label:
                log.reject(path, row.line, f"{ID_COLUMN}: {'stands there twice' if label else 'must not be empty'}")
            elif total != str(int(np.nansum(row.value, dtype=np.float64))):
                log.reject(path, row.line, f"{TOTAL_COLUMN}: is {total[:40]!r}, the minutes add up to something else")
            else:
                log.accept()
                grower.add(labels.setdefault(label, len(labels)), row.minute, row.value)
        sources = [lines.source()]
    log.require_rows(path)
    first = int(matrix.minutes[0])
    known = np.zeros(int(matrix.minutes[-1]) - first + 1, dtype=bool)
    known[matrix.minutes - first] = True
    rows = grower.finish(len(labels), first)
    table = multiplicity or _beside(path)
    occurrences = _read_multiplicity(table, labels, log, sources) if table else None
    series = Series("exemplars", "series", tuple(labels), max(0, first - 1), rows, known)
    return replace(trace_of_series(series, sources, log), multiplicity=occurrences)


def _beside(path: Path) -> Path | None:
    """A multiplicity table in the same folder, told by its columns."""
    for other in sorted(path.parent.glob("*multiplicity*.csv*")):
        header = first_header(other)
        if ID_COLUMN in header and any(name.startswith(_SAMPLE_PREFIX) for name in header):
            return other
    return None


def _read_multiplicity(path: Path, labels: Mapping[str, int], log: LoadLog, sources: list[SourceFile]) -> IntArray:
    occurrences = np.zeros(len(labels), dtype=np.int64)
    samples = [name for name in first_header(path) if name.startswith(_SAMPLE_PREFIX)]
    with LineFile(path, log) as lines:
        for line, (label, *counts) in named_rows(lines, log, [ID_COLUMN, *samples]):
            if not all(count.isascii() and count.isdigit() and len(count) < 10 for count in counts):
                log.reject(path, line, "occurrences must be whole numbers")
            elif label in labels:
                occurrences[labels[label]] += sum(map(int, counts))
        sources.append(lines.source())
    return occurrences
