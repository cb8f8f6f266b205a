"""A trace of plain series: counts by the minute and nothing else, everything else at its documented default.

Several public formats hold no trigger, duration or memory. Here their traces get the defaults, marked as imputed and
counted in the report, so that a replay of them runs and says what it rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray
from prewarm.traces.keys import unique_keys
from prewarm.traces.lines import SourceFile, combined_digest
from prewarm.traces.model import DEFAULT_DURATION_MS, DEFAULT_MEMORY_MB, Trace
from prewarm.traces.report import LoadLog
from prewarm.traces.sparse import SparseRows


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Counts of named series: `rows` relative to `start_minute`, `known` (minutes,) which minutes a file covers."""

    format: str
    namespace: str
    labels: Sequence[str]
    start_minute: int
    rows: SparseRows
    known: BoolArray


def trace_of_series(series: Series, sources: Sequence[SourceFile], log: LoadLog) -> Trace:
    """The trace with default duration and memory; concurrency is derived from the default duration."""
    functions = len(series.labels)
    log.count("no duration", functions)
    log.count("no memory", functions)
    counts = series.rows.value
    return Trace(
        format=series.format,
        keys=unique_keys([("", series.namespace, label) for label in series.labels]),
        labels=tuple(series.labels),
        start_minute=series.start_minute,
        minutes=len(series.known),
        step_s=60,
        indptr=series.rows.indptr,
        minute=series.rows.minute,
        count=counts,
        concurrency=(counts * np.float32(DEFAULT_DURATION_MS / 60_000)).astype(np.float32),
        concurrency_given=False,
        memory_mb=np.full(functions, DEFAULT_MEMORY_MB),
        duration_ms=np.full(functions, DEFAULT_DURATION_MS),
        memory_imputed=np.ones(functions, dtype=bool),
        duration_imputed=np.ones(functions, dtype=bool),
        first_seen=np.zeros(functions, dtype=np.int32),
        trigger=("",) * functions,
        known=series.known,
        sources=tuple(sources),
        sha256=combined_digest(sources),
        report=log.result(),
    )
