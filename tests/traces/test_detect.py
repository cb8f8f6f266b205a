"""Which reader a file gets, and what is said when there is none."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from prewarm.domain import InputError
from prewarm.traces.detect import detect_format, read_trace
from tests.traces.files import write_invocations, write_lines, write_table

INVOCATION_ROW = ("o", "a", "f", "http", {1: 1})


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("Trigger,HashFunction,HashApp,HashOwner,2,1", "azure2019", id="invocations, columns moved"),
        pytest.param("HashOwner,HashApp,HashFunction,Average,Count", "azure2019", id="durations"),
        pytest.param("HashOwner,HashApp,SampleCount,AverageAllocatedMb", "azure2019", id="memory"),
        pytest.param("duration,app,end_timestamp,func", "azure2021", id="2021"),
        pytest.param("app_id,0,1", "concurrency", id="concurrency"),
        pytest.param("series_id,daily_total,1", "exemplars", id="exemplars"),
        pytest.param("day,minute,R1", "regions", id="regions"),
        pytest.param(" timestamp , function ", "requestlog", id="log with blanks"),
        pytest.param("sn,cpu_milli", None, id="nodes"),
        pytest.param("", None, id="empty"),
    ],
)
def test_the_columns_tell_the_format(tmp_path: Path, header: str, expected: str | None) -> None:
    assert detect_format(write_lines(tmp_path / "any", [header])) == expected


def test_gzip_is_told_by_its_bytes_and_the_sum_is_of_the_file(tmp_path: Path) -> None:
    plain = write_invocations(tmp_path, [INVOCATION_ROW])
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    trace = read_trace(packed)
    assert trace.count.tolist() == read_trace(plain).count.tolist()
    assert trace.sha256 == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert trace.sources[0].size_bytes == packed.stat().st_size


def test_a_cut_off_download_keeps_what_came_before(tmp_path: Path) -> None:
    rows = [("o", "a", f"f{i}", "http", {i + 1: i + 1}) for i in range(400)]
    whole = gzip.compress(write_invocations(tmp_path, rows).read_bytes())
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    trace = read_trace(path)
    assert 0 < trace.functions < 400
    assert "compressed data is damaged" in trace.report.rejected[0].reason
    with pytest.raises(InputError, match="damaged"):
        read_trace(path, strict=True)


def test_files_of_another_kind_in_a_folder_are_left_out_and_counted(tmp_path: Path) -> None:
    write_invocations(tmp_path, [INVOCATION_ROW])
    write_table(tmp_path / "nodes.csv", ("sn", "cpu"), [("n", 1)])
    (tmp_path / "README.md").write_text("no trace")
    trace = read_trace(tmp_path)
    assert trace.report.counters["other files left out"] == 1


def test_two_traces_in_one_folder_need_a_choice(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        write_lines(tmp_path / name, ["app_id,0", "1,1"])
    with pytest.raises(InputError, match="holds 2 traces of the format concurrency; name one"):
        read_trace(tmp_path)


def test_an_unknown_format_is_named_with_what_can_be_read(tmp_path: Path) -> None:
    path = write_table(tmp_path / "nodes.csv", ("sn", "cpu"), [("n", 1)])
    with pytest.raises(InputError, match=r"nodes\.csv: not a trace that prewarm can read; it reads azure2019, "):
        read_trace(path)


@pytest.mark.parametrize("content", [None, b""], ids=["nothing there", "empty"])
def test_an_absent_or_empty_place_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "absent.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"absent\.csv"):
        read_trace(path)
    with pytest.raises(InputError, match="holds no CSV file"):
        read_trace([])


def test_progress_tells_bytes_up_to_the_size(tmp_path: Path) -> None:
    path = write_invocations(tmp_path, [INVOCATION_ROW])
    told: list[tuple[str, int, int]] = []
    read_trace(path, progress=lambda name, done, size: told.append((name, done, size)))
    assert told[-1] == (path.name, path.stat().st_size, path.stat().st_size)


def test_a_line_beyond_four_mebibytes_is_a_broken_row(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.csv", ["ts,func", "1,f", "2," + "f" * (5 * 2**20), "3,f"])
    trace = read_trace(path)
    assert trace.totals().tolist() == [2]
    assert str(trace.report.rejected[0]) == f"{path}:3: longer than 4194304 bytes"


def test_lines_after_an_over_long_one_keep_their_numbers(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.csv", ["ts,func", "2," + "f" * (9 * 2**20), "bad,f", "3,f"])
    assert [row.line for row in read_trace(path).report.rejected] == [2, 3]
