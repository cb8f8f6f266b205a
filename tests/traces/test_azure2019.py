"""Reading the Azure 2019 schema: days, partial days, statistics, broken rows, and what is not known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.traces.detect import read_trace
from prewarm.traces.formats.azure2019 import read_azure2019
from prewarm.traces.model import DEFAULT_DURATION_MS, DEFAULT_MEMORY_MB
from tests.traces.files import (
    DURATION_COLUMNS,
    DURATIONS,
    MEMORY,
    MEMORY_COLUMNS,
    write_invocations,
    write_lines,
    write_table,
)


def test_a_full_day_becomes_one_row_per_function(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 2, 1440: 7}), ("o", "a", "g", "timer", {})])
    trace = read_trace(tmp_path)
    assert trace.keys == ("a/f", "a/g")
    assert trace.labels == ("f", "g")
    assert trace.trigger == ("http", "timer")
    assert (trace.start_minute, trace.minutes) == (0, 1440)
    assert trace.indptr.tolist() == [0, 2, 2]
    assert trace.minute.tolist() == [0, 1439]
    assert trace.count.tolist() == [2, 7]
    assert trace.totals().tolist() == [9, 0]


def test_durations_and_memory_join_by_key_and_give_the_derived_concurrency(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {5: 30}), ("o", "b", "g", "http", {5: 1})])
    write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, [("o", "a", "f", 6000, 3, 5000)])
    write_table(tmp_path / MEMORY.format(day=1), MEMORY_COLUMNS, [("o", "a", 10, 200, 190)])
    trace = read_trace(tmp_path)
    assert trace.duration_ms.tolist() == [6000, DEFAULT_DURATION_MS]
    assert trace.duration_imputed.tolist() == [False, True]
    assert trace.memory_mb.tolist() == [200, DEFAULT_MEMORY_MB]
    assert trace.memory_imputed.tolist() == [False, True]
    assert trace.concurrency[0] == pytest.approx(3.0)
    assert not trace.concurrency_given
    assert trace.report.counters == {"no duration": 1, "no memory": 1}


def test_statistics_of_several_days_are_one_mean_weighted_by_their_counts(tmp_path: Path) -> None:
    for day, average, count in ((1, 100, 3), (2, 200, 1)):
        write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})], day=day)
        write_table(tmp_path / DURATIONS.format(day=day), DURATION_COLUMNS, [("o", "a", "f", average, count, 1)])
    trace = read_trace(tmp_path)
    assert trace.duration_ms.tolist() == [125.0]
    assert trace.report.merged == ()


def test_the_order_of_the_files_does_not_matter(tmp_path: Path) -> None:
    files = [write_invocations(tmp_path, [("o", "a", "f", "http", {1: day})], day=day) for day in (1, 2, 3)]
    forward, backward = read_azure2019(files), read_azure2019(files[::-1])
    assert forward.minute.tolist() == backward.minute.tolist() == [0, 1440, 2880]
    assert forward.count.tolist() == backward.count.tolist() == [1, 2, 3]
    assert forward.sha256 == backward.sha256


def test_a_day_that_no_file_covers_is_unknown_not_idle(tmp_path: Path) -> None:
    for day in (1, 3):
        write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})], day=day)
    trace = read_trace(tmp_path)
    assert trace.minutes == 3 * 1440
    assert not trace.known[1440:2880].any()
    dense = trace.dense_count()
    assert np.isnan(dense[0, 1440:2880]).all()
    assert dense[0, [0, 1, 2880, 2881]].tolist() == [1, 0, 1, 0]
    assert trace.need()[0, 1440:2880].max() == 0


def test_a_partial_day_starts_at_its_first_column(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {480: 1, 959: 2})], minutes=range(480, 960))
    trace = read_trace(tmp_path)
    assert (trace.start_minute, trace.minutes) == (479, 480)
    assert trace.minute.tolist() == [0, 479]


def test_columns_from_zero_count_from_zero(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {0: 4})], minutes=range(1440))
    trace = read_trace(tmp_path)
    assert (trace.start_minute, trace.minutes, trace.minute.tolist()) == (0, 1440, [0])


def test_an_empty_cell_is_unknown_for_that_function(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 3, 2: ""}), ("o", "a", "g", "http", {2: 5})])
    trace = read_trace(tmp_path)
    dense = trace.dense_count()
    assert np.isnan(dense[0, 1])
    assert dense[1, 1] == 5
    assert trace.totals().tolist() == [3, 5]
    assert trace.need()[0, :3].tolist() == [1, 0, 0]
    assert trace.report.counters["empty cells (unknown minutes)"] == 1


def test_equal_rows_count_once_and_different_ones_add_up(tmp_path: Path) -> None:
    same = ("o", "a", "f", "http", {1: 4})
    other = ("o", "a", "f", "queue", {1: 1, 2: 2})
    path = write_invocations(tmp_path, [same, same, other, ("o", "a", "g", "http", {1: 1})])
    trace = read_trace(path)
    assert trace.keys == ("a/f", "a/g")
    assert trace.dense_count()[:, :3].tolist() == [[5, 2, 0], [1, 0, 0]]
    assert [(merged.key, merged.rows) for merged in trace.report.merged] == [("o/a/f", 3)]


def test_owners_with_equal_app_and_function_names_stay_apart(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o1", "a", "f", "http", {1: 1}), ("o2", "a", "f", "http", {1: 2})])
    trace = read_trace(tmp_path)
    assert trace.keys == ("o1.a/f", "o2.a/f")


def test_an_app_is_the_union_of_its_functions(tmp_path: Path) -> None:
    path = write_invocations(
        tmp_path,
        [("o", "a", "f", "http", {1: 1}), ("o", "a", "g", "timer", {1: 2, 3: 1}), ("o", "b", "f", "http", {2: 1})],
    )
    rows = [("o", "a", "f", 100, 1, 1), ("o", "a", "g", 400, 2, 1), ("o", "b", "f", 50, 1, 1)]
    durations = write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, rows)
    trace = read_azure2019([path, durations], level="app")
    assert trace.keys == ("o/a", "o/b")
    assert trace.dense_count()[:, :4].tolist() == [[3, 0, 1, 0], [0, 1, 0, 0]]
    assert trace.duration_ms.tolist() == [300.0, 50.0]
    assert trace.trigger == ("http+timer", "http")


def test_files_beside_an_invocations_file_are_taken_along_by_name(tmp_path: Path) -> None:
    path = tmp_path / "sample9_invocations.csv"
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})]).rename(path)
    write_table(tmp_path / "sample9_durations.csv", DURATION_COLUMNS, [("o", "a", "f", 40, 1, 1)])
    write_table(tmp_path / "sample8_durations.csv", DURATION_COLUMNS, [("o", "a", "f", 99, 1, 1)])
    trace = read_trace(path)
    assert trace.duration_ms.tolist() == [40.0]
    assert [source.name for source in trace.sources] == ["sample9_invocations.csv", "sample9_durations.csv"]


def test_memory_by_function_joins_by_function(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1}), ("o", "a", "g", "http", {1: 1})])
    columns = ("HashFunction", *MEMORY_COLUMNS)
    write_table(tmp_path / MEMORY.format(day=1), columns, [("f", "o", "a", 1, 50, 50), ("g", "o", "a", 1, 70, 70)])
    assert read_trace(tmp_path).memory_mb.tolist() == [50.0, 70.0]


@pytest.mark.parametrize(
    ("average", "median", "expected", "imputed", "counter"),
    [
        pytest.param(-5, 130, 130.0, False, "negative", id="a negative average takes the median"),
        pytest.param(0, 20, 20.0, False, "zero", id="a zero average takes the median"),
        pytest.param(0, 0, 0.5, True, "zero", id="zero throughout is half a millisecond"),
        pytest.param(-5, -7, DEFAULT_DURATION_MS, True, "negative", id="negative throughout is no duration"),
    ],
)
def test_a_duration_is_never_zero_or_negative(
    tmp_path: Path, average: int, median: int, expected: float, imputed: bool, counter: str
) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})])
    write_table(tmp_path / DURATIONS.format(day=1), DURATION_COLUMNS, [("o", "a", "f", average, 1, median)])
    trace = read_trace(tmp_path)
    assert trace.duration_ms.tolist() == [expected]
    assert trace.duration_imputed.tolist() == [imputed]
    assert trace.report.counters[counter] == 1


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        pytest.param("abc", "minute 2: must be a number, is 'abc'", id="text"),
        pytest.param("-3", "minute 2: must be 0 to 1000000000, is '-3'", id="negative"),
        pytest.param("1.5", "minute 2: must be a whole number, is '1.5'", id="fraction"),
        pytest.param("nan", "minute 2: must be 0 to 1000000000, is 'nan'", id="nan"),
        pytest.param("inf", "minute 2: must be 0 to 1000000000, is 'inf'", id="infinite"),
        pytest.param("99999999999999999999", "minute 2: must be 0 to 1000000000, is '999", id="beyond 64 bits"),
        pytest.param("1_0", "minute 2: must be a number, is '1_0'", id="underscore"),
        pytest.param("1,1", "has 1445 cells where the header has 1444", id="one cell too many"),
        pytest.param('"1', "its quotes do not close", id="open quote"),
    ],
)
def test_a_broken_row_is_left_out_with_its_line_and_reason(tmp_path: Path, cell: str, reason: str) -> None:
    path = write_invocations(tmp_path, [("o", "a", "bad", "http", {2: cell}), ("o", "a", "good", "http", {2: 1})])
    trace = read_trace(path)
    assert trace.labels == ("good",)
    assert trace.report.rejected_rows == 1
    assert str(trace.report.rejected[0]).startswith(f"{path}:2: {reason}")
    with pytest.raises(InputError, match=":2: "):
        read_trace(path, strict=True)


def test_whole_numbers_may_be_written_with_a_point(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {2: "3.0"})])
    assert read_trace(tmp_path).count.tolist() == [3]


def test_quoted_cells_and_a_comma_within_quotes_are_read(tmp_path: Path) -> None:
    write_invocations(tmp_path, [("o", '"a,b"', "f", '"http"', {2: '"3"'})])
    trace = read_trace(tmp_path)
    assert (trace.keys, trace.trigger, trace.count.tolist()) == (("a,b/f",), ("http",), [3])


def test_a_file_of_broken_rows_only_is_refused_with_the_first_reason(tmp_path: Path) -> None:
    path = write_invocations(tmp_path, [("o", "a", "f", "http", {2: "x"})])
    with pytest.raises(InputError, match=r"no usable row in it; .*:2: minute 2"):
        read_trace(path)


def test_rejections_are_kept_up_to_a_hundred_and_counted_in_full(tmp_path: Path) -> None:
    bad = [("o", "a", f"f{i}", "http", {1: "x"}) for i in range(150)]
    trace = read_trace(write_invocations(tmp_path, [*bad, ("o", "a", "g", "http", {1: 1})], minutes=range(1, 4)))
    assert trace.report.rejected_rows == 150
    assert len(trace.report.rejected) == 100
    assert "and 50 more rejected rows" in trace.report.warnings()


def test_a_day_number_out_of_range_is_refused(tmp_path: Path) -> None:
    path = write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})], day=999)
    with pytest.raises(InputError, match="1 to 366, is 999"):
        read_trace(path)


def test_a_minute_column_twice_is_refused(tmp_path: Path) -> None:
    path = write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})], minutes=[1, 2, 1])
    with pytest.raises(InputError, match="twice"):
        read_trace(path)


@pytest.mark.parametrize("text", ["{", "[]", '{"start_minute": -1}', '{"start_minute": "now"}'])
def test_a_broken_note_of_the_start_is_refused(tmp_path: Path, text: str) -> None:
    write_invocations(tmp_path, [("o", "a", "f", "http", {1: 1})])
    write_lines(tmp_path / "trace.json", [text])
    with pytest.raises(InputError, match=r"trace\.json"):
        read_trace(tmp_path)


def test_the_public_sample_repeats_the_published_keep_alive_counts(traces_dir: Path) -> None:
    trace = read_trace(traces_dir / "azure2019-invitro" / "sample100_invocations.csv")
    need = trace.need()
    cold = {}
    for keep in (10, 15, 60):
        warm = np.zeros_like(need)
        for back in range(1, keep + 1):
            warm[:, back:] = np.maximum(warm[:, back:], need[:, :-back])
        cold[keep] = int(np.maximum(0, need - warm).sum())
    assert trace.functions == 100
    assert cold == {10: 481, 15: 280, 60: 123}
