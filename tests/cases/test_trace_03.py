"""trace-03: a byte-order mark, CRLF, columns in reverse and broken rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.traces.detect import read_trace
from tests.traces.files import Cells, matrix_line, write_lines

MINUTES = range(1440, 0, -1)


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    """The file: fn2 is short, fn3 holds text, fn4 a negative count, fn6 an empty cell; the last line is blank."""
    cells: dict[str, Cells] = {
        "fn1": {1: 5, 1440: 9},
        "fn2": {},
        "fn3": {7: "abc"},
        "fn4": {2: -3},
        "fn5": {3: "2.0"},
        "fn6": {5: 1, 4: ""},
    }
    lines = [",".join(["Trigger", "HashFunction", "HashApp", "HashOwner", *map(str, MINUTES)])]
    lines += [matrix_line(["http", name, f"app-{name}", "own1"], MINUTES, row) for name, row in cells.items()]
    lines[2] = lines[2].removesuffix(",0,0,0")
    name = "invocations_per_function_md.anon.d01.csv"
    return write_lines(tmp_path / name, [*lines, ""], end="\r\n", bom=True)


def test_columns_are_found_by_name_and_broken_rows_told_by_line(moved: Path) -> None:
    trace = read_trace(moved)
    counts = dict(zip(trace.labels, trace.dense_count(), strict=True))
    assert list(counts) == ["fn1", "fn5", "fn6"]
    assert (counts["fn1"][0], counts["fn1"][1439]) == (5, 9)
    assert counts["fn5"][2] == 2
    assert counts["fn6"][4] == 1
    assert np.isnan(counts["fn6"][3])
    assert [row.line for row in trace.report.rejected] == [3, 4, 5]
    assert [row.reason for row in trace.report.rejected] == [
        "has 1441 cells where the header has 1444",
        "minute 7: must be a number, is 'abc'",
        "minute 2: must be 0 to 1000000000, is '-3'",
    ]


def test_strict_reading_stops_at_the_first_broken_row(moved: Path) -> None:
    with pytest.raises(InputError, match=":3: has 1441 cells"):
        read_trace(moved, strict=True)
