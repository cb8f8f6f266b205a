"""The trace itself: dense views, selections, windows and the rule of need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.traces.detect import read_trace
from prewarm.traces.model import Trace
from tests.traces.files import DURATION_COLUMNS, DURATIONS, write_invocations, write_table


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Three functions over two days; the second is not seen before day 2."""
    rows = [("o", "a", "f", "http", {1: 2, 100: 90}), ("o", "a", "h", "timer", {1440: 1})]
    write_invocations(tmp_path, rows, day=1)
    write_invocations(tmp_path, [("o", "b", "g", "queue", {5: 4})], day=2)
    write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, [("o", "a", "f", 2000, 1, 1)])
    return read_trace(tmp_path)


def test_a_selection_keeps_every_column_in_step(trace: Trace) -> None:
    part = trace.select(np.array([2, 0]))
    assert part.keys == ("b/g", "a/f")
    assert part.indptr.tolist() == [0, 1, 3]
    assert part.minute.tolist() == [1444, 0, 99]
    assert part.first_seen.tolist() == [1440, 0]
    assert part.duration_ms[1] == 2000
    assert part.dense_count().tolist() == trace.dense_count()[[2, 0]].tolist()


def test_a_mask_selects_in_the_given_order(trace: Trace) -> None:
    assert trace.select(np.array([True, False, True])).keys == ("a/f", "b/g")


def test_a_window_is_the_trace_cut_out(trace: Trace) -> None:
    part = trace.window(50, 1445)
    assert (part.start_minute, part.minutes) == (50, 1395)
    assert part.dense_count().tolist() == trace.dense_count()[:, 50:1445].tolist()
    assert part.first_seen.tolist() == [0, 0, 1390]
    assert trace.window(0, 1).totals().tolist() == [2, 0, 0]


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 5), (0, 9999)])
def test_a_window_outside_the_trace_is_refused(trace: Trace, start: int, stop: int) -> None:
    with pytest.raises(InputError, match="window"):
        trace.window(start, stop)


def test_need_follows_the_rule_asked_for(trace: Trace) -> None:
    assert trace.need()[0, [0, 1, 99]].tolist() == [1, 0, 1]
    assert trace.need(rule="concurrency")[0, [0, 1, 99]].tolist() == [1, 0, 3]
    assert trace.need(2, rule="concurrency")[0, [0, 1, 99]].tolist() == [1, 0, 2]
    assert trace.need_entries(rule="called").tolist() == [1, 1, 1, 1]


def test_a_concurrency_limit_of_zero_is_refused(trace: Trace) -> None:
    with pytest.raises(InputError, match="concurrency limit"):
        trace.need(0)


@pytest.mark.parametrize("cells", [1, 2880, 5760, 10**9])
def test_chunks_of_rows_make_the_same_block(trace: Trace, cells: int) -> None:
    blocks = [trace.need(rows=rows) for rows in trace.row_chunks(cells)]
    assert np.concatenate(blocks).tolist() == trace.need().tolist()
    assert all(block.size <= max(cells, trace.minutes) for block in blocks)


def test_requests_follow_a_selection_and_a_window(tmp_path: Path) -> None:
    rows = [(0, "f", 10), (61, "g", 20), (130, "f", 30)]
    trace = read_trace(write_table(tmp_path / "log.csv", ("ts", "func", "duration_ms"), rows))
    chosen = trace.select(np.array([1])).requests
    assert chosen is not None
    assert (chosen.function.tolist(), chosen.start_s.tolist()) == ([0], [61.0])
    cut = trace.window(1, 3).requests
    assert cut is not None
    assert (cut.function.tolist(), cut.start_s.tolist()) == ([1, 0], [1.0, 70.0])
