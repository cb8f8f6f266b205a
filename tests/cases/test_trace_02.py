"""trace-02: negative, zero and missing statistics never reach the sizing as they are."""

from __future__ import annotations

from pathlib import Path

from prewarm.traces.detect import read_trace
from prewarm.traces.model import DEFAULT_DURATION_MS, DEFAULT_MEMORY_MB
from tests.traces.files import (
    DURATION_COLUMNS,
    DURATIONS,
    MEMORY,
    MEMORY_COLUMNS,
    write_invocations,
    write_table,
)


def test_bad_statistics_take_the_median_and_missing_ones_the_marked_default(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("own1", f"app{i}", f"fn{i}", "http", {5: 12}) for i in (1, 2, 3, 4)])
    durations = [("own1", "app1", "fn1", -5200, 12, 130), ("own1", "app2", "fn2", 0, 12, 20)]
    durations.append(("own1", "app4", "fn4", 75, 12, 75))
    write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, durations)
    memory = [("own1", "app1", 60, 128, 128), ("own1", "app2", 60, 96, 96)]
    write_table(tmp_path / MEMORY.format(day=1), MEMORY_COLUMNS, memory)

    trace = read_trace(tmp_path)

    assert trace.totals().tolist() == [12, 12, 12, 12]
    assert trace.duration_ms.tolist() == [130, 20, DEFAULT_DURATION_MS, 75]
    assert trace.duration_imputed.tolist() == [False, False, True, False]
    assert trace.memory_mb.tolist() == [128, 96, DEFAULT_MEMORY_MB, DEFAULT_MEMORY_MB]
    assert trace.memory_imputed.tolist() == [False, False, True, True]
    assert trace.report.counters == {"negative": 1, "zero": 1, "no duration": 1, "no memory": 2}
