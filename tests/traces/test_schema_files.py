"""Which file is which in a folder of the Azure 2019 schema, and what its statistics say."""

from __future__ import annotations

from pathlib import Path

import pytest

from prewarm.domain import InputError
from prewarm.traces.detect import read_trace
from prewarm.traces.formats.azure2019_files import Kind, companions, file_day, file_kind, origin_minute, schema_files
from tests.traces.files import (
    DURATION_COLUMNS,
    DURATIONS,
    MEMORY,
    MEMORY_COLUMNS,
    write_invocations,
    write_lines,
    write_table,
)


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("invocations_per_function_md.anon.d01.csv", 1),
        ("invocations_per_function_md.anon.d14.csv", 14),
        ("d007_invocations.csv.gz", 7),
        ("sample100_invocations.csv", 1),
        ("md5.csv", 1),
        ("a-d365-b.csv", 365),
    ],
)
def test_the_day_is_told_by_the_name(name: str, day: int) -> None:
    assert file_day(Path(name)) == day


@pytest.mark.parametrize("name", ["x.d00.csv", "x.d367.csv"])
def test_days_are_1_to_366(name: str) -> None:
    with pytest.raises(InputError, match="the day in the name"):
        file_day(Path(name))


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        (["HashOwner", "HashApp", "HashFunction", "Trigger", "1"], Kind.INVOCATIONS),
        (["HashOwner", "HashApp", "HashFunction", "1"], Kind.INVOCATIONS),
        (["HashOwner", "HashApp", "HashFunction", "Average", "Count"], Kind.DURATIONS),
        (["HashOwner", "HashApp", "SampleCount", "AverageAllocatedMb"], Kind.MEMORY),
        (["HashFunction", "HashOwner", "HashApp", "SampleCount", "AverageAllocatedMb"], Kind.MEMORY),
        (["HashApp", "NumInvocations"], None),
        (["HashOwner", "HashApp", "HashFunction", "Trigger"], None),
        (["HashOwner", "HashApp", "1"], None),
        ([], None),
    ],
)
def test_the_kind_is_told_by_the_columns(header: list[str], kind: Kind | None) -> None:
    assert file_kind(header) is kind


def test_files_are_sorted_by_day_whatever_their_names(tmp_path: Path) -> None:
    late = write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})], day=2)
    early = tmp_path / "z.d01.csv"
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})], day=1).rename(early)
    other = write_table(tmp_path / "nodes.csv", ("sn", "cpu"), [("n", 1)])
    assert [file.path for file in schema_files([late, other, early])] == [early, late]


def test_only_files_that_are_there_accompany(tmp_path: Path) -> None:
    path = tmp_path / "invocations_per_function_md.anon.d03.csv"
    memory = write_table(tmp_path / MEMORY.format(day=3), MEMORY_COLUMNS, [])
    assert companions(path) == (memory,)
    assert companions(tmp_path / "calls.csv") == ()


def test_a_trace_without_a_note_begins_at_minute_zero(tmp_path: Path) -> None:
    assert origin_minute([tmp_path / "a.csv"]) == 0
    write_lines(tmp_path / "trace.json", ['{"start_minute": 29570400}'])
    assert origin_minute([tmp_path / "a.csv"]) == 29_570_400


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param(("o", "a", "f", "fast", 1, 1), "must be numbers", id="text"),
        pytest.param(("o", "a", "f", "nan", 1, 1), "must be numbers", id="nan"),
        pytest.param(("o", "a", "f", "1e300", 1, 1), "must be numbers below 1e9", id="huge"),
        pytest.param(("o", "a", "f", 5, -1, 1), "must be numbers", id="negative weight"),
        pytest.param(("o", "a", "f", 5), "has 4 cells where the header has 6", id="short"),
    ],
)
def test_a_broken_row_of_statistics_is_told_and_leaves_the_default(
    tmp_path: Path, row: tuple[object, ...], reason: str
) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})])
    path = write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, [row])
    trace = read_trace(tmp_path)
    assert trace.duration_imputed.tolist() == [True]
    assert str(trace.report.rejected[0]).startswith(f"{path}:2: ")
    assert reason in trace.report.rejected[0].reason


def test_a_weight_of_zero_counts_as_one(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})])
    write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, [("o", "a", "f", 80, 0, 80)])
    assert read_trace(tmp_path).duration_ms.tolist() == [80]


def test_statistics_of_functions_without_invocations_are_counted(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})])
    write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, [("o", "a", "gone", 80, 1, 80)])
    write_table(tmp_path / MEMORY.format(day=1), MEMORY_COLUMNS, [("o", "b", 1, 80, 80)])
    counters = read_trace(tmp_path).report.counters
    assert counters["duration rows without invocations"] == 1
    assert counters["memory rows without invocations"] == 1


@pytest.mark.parametrize(("average", "median", "expected"), [(-3, 90, 90.0), (0, 0, 143.0), (0, 70, 70.0)])
def test_memory_is_never_zero_or_negative(tmp_path: Path, average: int, median: int, expected: float) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})])
    write_table(tmp_path / MEMORY.format(day=1), MEMORY_COLUMNS, [("o", "a", 1, average, median)])
    assert read_trace(tmp_path).memory_mb.tolist() == [expected]


def test_a_table_without_its_median_column_still_gives_means(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1}), ("o", "a", "g", "http", {1: 1})])
    rows = [("o", "a", "f", 60, 1), ("o", "a", "g", -60, 1)]
    write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS[:5], rows)
    trace = read_trace(tmp_path)
    assert trace.duration_ms[0] == 60
    assert trace.duration_imputed.tolist() == [False, True]


def test_a_folder_of_statistics_only_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, [("o", "a", "f", 80, 1, 80)])
    with pytest.raises(InputError, match="no invocations file"):
        read_trace(tmp_path)
