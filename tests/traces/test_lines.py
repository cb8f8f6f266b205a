"""Lines of a file: numbers, ends, marks, packing, quotes, and the sum of what is on the disk."""

from __future__ import annotations

import gzip
import hashlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import InputError
from prewarm.traces.lines import (
    LineFile,
    SourceFile,
    column_positions,
    combined_digest,
    first_header,
    named_rows,
    split_cells,
)
from prewarm.traces.report import LoadLog


def lines_of(path: Path) -> list[tuple[int, bytes]]:
    with LineFile(path, LoadLog()) as lines:
        return list(lines)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "open end"])
def test_lines_keep_their_numbers_over_blank_ones(tmp_path: Path, end: bytes, mark: bytes, last: bool) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(mark + end.join([b"x,y", b"", b"1,2", b"  ", b"3,4"]) + (end if last else b""))
    assert lines_of(path) == [(1, b"x,y"), (3, b"1,2"), (5, b"3,4")]


@given(st.binary(max_size=400))
def test_packed_and_plain_files_give_the_same_lines(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = Path(folder) / "a", Path(folder) / "b"
        plain.write_bytes(b"header\n" + content)
        packed.write_bytes(gzip.compress(b"header\n" + content))
        assert lines_of(plain) == lines_of(packed)


@given(st.binary(max_size=400), st.integers(0, 5))
def test_the_sum_is_of_the_whole_file_however_far_one_read(content: bytes, read: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        path.write_bytes(content)
        with LineFile(path, LoadLog()) as lines:
            for _, _ in zip(range(read), lines, strict=False):
                pass
            source = lines.source()
    assert source == SourceFile("a", hashlib.sha256(content).hexdigest(), len(content))


def test_bytes_behind_the_packed_part_belong_to_the_sum(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"x\n1\n") + b"\0" * 10)
    with LineFile(path, LoadLog()) as lines:
        assert [line for _, line in lines] == [b"x", b"1"]
        assert lines.source().sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        (b"a,b,,", ["a", "b", "", ""]),
        (b'"a,b",c', ["a,b", "c"]),
        (b'"say ""hi""",c', ['say "hi"', "c"]),
        (b'"open,c', None),
        (b'"a"b,c', None),
        (b"\xff,b", ["\ufffd", "b"]),
    ],
)
def test_cells_are_split_as_csv_does(line: bytes, cells: list[str] | None) -> None:
    assert split_cells(line) == cells


def test_a_cell_beyond_the_csv_limit_is_no_crash() -> None:
    assert split_cells(b'"' + b"a" * 200_000 + b'",b') is None


@pytest.mark.parametrize(
    ("wanted", "reason"), [(["c"], "has no column 'c'"), (["a"], "has 2 columns 'a'")], ids=["absent", "twice"]
)
def test_columns_must_be_there_once(wanted: list[str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        column_positions(["a", "b", "a"], wanted, Path("file.csv"))


def test_named_cells_come_in_the_order_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(' a , b ,"c"\n1, 2 ,3\n1,2\n4,5,6\n')
    log = LoadLog()
    with LineFile(path, log) as lines:
        assert list(named_rows(lines, log, ["c", "a"])) == [(2, ["3", "1"]), (4, ["6", "4"])]
    assert [str(row) for row in log.rejected] == [f"{path}:3: has 2 cells where the header has 3"]


def test_a_folder_or_an_absent_file_is_bad_input(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match="cannot be read"):
            LineFile(path, LoadLog())


def test_an_empty_file_has_no_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n \n")
    assert first_header(path) == []


def test_one_file_keeps_its_sum_and_several_are_listed_by_name() -> None:
    first, second = SourceFile("a", "1" * 64, 1), SourceFile("b", "2" * 64, 1)
    assert combined_digest([first]) == "1" * 64
    listing = f"{'1' * 64}  a\n{'2' * 64}  b\n".encode()
    assert combined_digest([second, first]) == hashlib.sha256(listing).hexdigest()
