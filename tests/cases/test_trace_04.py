"""trace-04: the trigger is no part of a function's identity, and days in any order make one series."""

from __future__ import annotations

from pathlib import Path

import pytest

from prewarm.traces.detect import read_trace
from tests.traces.files import write_invocations


@pytest.mark.parametrize("turned", [False, True], ids=["day 1 first", "day 2 first"])
def test_a_function_whose_trigger_changes_stays_one_series(tmp_path: Path, turned: bool) -> None:
    first = [("own1", "app1", "fn1", "others", {10: 3}), ("own1", "app3", "fn3", "timer", {20: 1})]
    second = [("own1", "app1", "fn1", "http", {10: 4}), ("own1", "app2", "fn2", "queue", {30: 2})]
    files = [write_invocations(tmp_path, first, day=1), write_invocations(tmp_path, second, day=2)]

    trace = read_trace(files[::-1] if turned else files)

    assert trace.labels == ("fn1", "fn3", "fn2")
    assert trace.minutes == 2880
    counts = trace.dense_count()
    assert (counts[0, 9], counts[0, 1449], counts[0].sum()) == (3, 4, 7)
    assert trace.trigger == ("http", "timer", "queue")
    assert counts[1, 1440:].sum() == 0
    assert trace.first_seen.tolist() == [0, 0, 1440]
