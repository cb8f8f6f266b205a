"""The fast way through a line and the cell by cell one must never disagree."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import InputError
from prewarm.traces.formats.matrix import MatrixFile, MatrixRow, minute_columns
from prewarm.traces.lines import LineFile
from prewarm.traces.report import LoadLog

COUNT = st.sampled_from(["0", "0", "0", "1", "7", "12", "999999999", "1000000001", "00", "3.0"])
SHARE = st.sampled_from(["0", "0.5", "1e-05", "2", ".5", "1.", "12.25", "-0.0"])


def read(lines: list[str], *, whole: bool) -> tuple[list[MatrixRow], LoadLog]:
    log = LoadLog()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.csv"
        path.write_text("\n".join(lines))
        with LineFile(path, log) as file:
            return list(MatrixFile(file, log, ["id"], whole=whole).rows()), log


def values(rows: list[MatrixRow]) -> list[tuple[str, list[int], list[float]]]:
    return [(row.cells[0], row.minute.tolist(), row.value.tolist()) for row in rows]


@pytest.mark.parametrize(("cell", "whole"), [(COUNT, True), (SHARE, False)], ids=["counts", "shares"])
@given(data=st.data())
def test_quoting_a_cell_changes_nothing(cell: st.SearchStrategy[str], whole: bool, data: st.DataObject) -> None:
    names = data.draw(st.permutations(["1", "2", "3", "4"]))
    place = data.draw(st.integers(0, 4))
    header = [*names[:place], "id", *names[place:]]
    cells = data.draw(st.lists(cell, min_size=4, max_size=4))
    row = [*cells[:place], "f", *cells[place:]]
    plain, plain_log = read([",".join(header), ",".join(row)], whole=whole)
    quoted, quoted_log = read([",".join(header), ",".join(f'"{one}"' for one in row)], whole=whole)
    assert values(plain) == values(quoted)
    assert plain_log.rejected_rows == quoted_log.rejected_rows
    if plain:
        expected = {int(name): np.float32(value) for name, value in zip(names, cells, strict=True) if float(value)}
        assert dict(zip(plain[0].minute.tolist(), plain[0].value.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        pytest.param("id,1,2,3", "f,5,0,7", [(1, 5), (3, 7)], id="block behind"),
        pytest.param("1,2,3,id", "5,0,7,f", [(1, 5), (3, 7)], id="block in front"),
        pytest.param("x,id,3,2,1,y", "a,f,7,0,5,b", [(1, 5), (3, 7)], id="block in the middle, backwards"),
        pytest.param("1,id,2,x,3", "5,f,0,a,7", [(1, 5), (3, 7)], id="no block"),
        pytest.param("id,0,1440", "f,1,2", [(0, 1), (1440, 2)], id="first and last minute"),
        pytest.param("id,1,1441,x1", "f,1,9,9", [(1, 1)], id="names that are no minutes"),
    ],
)
def test_minutes_are_found_wherever_they_stand(header: str, row: str, expected: list[tuple[int, int]]) -> None:
    rows, log = read([header, row], whole=True)
    assert log.rejected_rows == 0
    assert list(zip(rows[0].minute.tolist(), rows[0].value.tolist(), strict=True)) == expected
    assert rows[0].cells == ["f"]


@pytest.mark.parametrize("cell", ["-1", "x", "1e3x", "nan", "-inf", "1_000", "0x10", "1 1", "+", "\u0663x"])
def test_what_is_no_share_is_rejected_by_both_ways(cell: str) -> None:
    for line in (f"f,0.5,{cell}", f'"f",0.5,"{cell}"'):
        rows, log = read(["id,1,2", line], whole=False)
        assert rows == []
        assert log.rejected[0].reason.startswith("minute 2: must be")


def test_blanks_around_numbers_are_allowed() -> None:
    rows, log = read(["id, 1 ,2", "f , 3, 4 "], whole=True)
    assert log.rejected_rows == 0
    assert values(rows) == [("f", [1, 2], [3, 4])]


@pytest.mark.parametrize("header", ["id", "id,x,y", "id,1441"])
def test_a_file_without_minutes_is_refused(header: str) -> None:
    with pytest.raises(InputError, match="has no minute columns"):
        read([header, "f,1"], whole=True)


def test_only_plain_numbers_up_to_a_day_name_minutes() -> None:
    assert minute_columns(["0", "1440", "1441", "007", "1.0", "-1", "", "00001"]) == [0, 1, 3]
