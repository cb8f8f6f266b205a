"""trace-01: statistics files with a key twice must not double the invocations."""

from __future__ import annotations

from pathlib import Path

from prewarm.traces.detect import read_trace
from tests.traces.files import (
    DURATION_COLUMNS,
    DURATIONS,
    MEMORY,
    MEMORY_COLUMNS,
    write_invocations,
    write_table,
)


def test_duplicate_statistics_rows_become_weighted_means(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("own1", "app1", "fn1", "http", dict.fromkeys(range(1, 11), 4))])
    rows: list[tuple[object, ...]] = [("own1", "app1", "fn1", 100, 30, 95), ("own1", "app1", "fn1", 400, 10, 420)]
    durations = write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, rows)
    rows = [("own1", "app1", 60, 128, 128), ("own1", "app1", 20, 256, 256)]
    memory = write_table(tmp_path / MEMORY.format(day=1), MEMORY_COLUMNS, rows)

    trace = read_trace(tmp_path, strict=True)

    assert trace.functions == 1
    assert trace.totals().tolist() == [40]
    assert trace.minute.tolist() == list(range(10))
    assert set(trace.count.tolist()) == {4}
    assert trace.duration_ms.tolist() == [175]
    assert trace.memory_mb.tolist() == [160]
    assert trace.report.warnings() == (
        f"{durations}: 2 rows of own1/app1/fn1 merged into one",
        f"{memory}: 2 rows of own1/app1 merged into one",
    )
