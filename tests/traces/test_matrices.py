"""Concurrency matrices, day exemplars and region tables, on small files and on the public ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError, Int32Array
from prewarm.traces.detect import read_trace
from prewarm.traces.formats.concurrency import read_concurrency
from prewarm.traces.formats.exemplars import read_exemplars
from prewarm.traces.model import DEFAULT_MEMORY_MB
from tests.traces.files import matrix_line, write_lines, write_table


def write_matrix(path: Path, rows: dict[str, dict[int, object]], minutes: range = range(6)) -> Path:
    header = ",".join(["app_id", *map(str, minutes)])
    return write_lines(path, [header, *(matrix_line([name], minutes, cells) for name, cells in rows.items())])


def cold_starts(need: Int32Array, keep: int) -> int:
    warm = np.zeros_like(need)
    for back in range(1, keep + 1):
        warm[:, back:] = np.maximum(warm[:, back:], need[:, :-back])
    return int(np.maximum(0, need - warm).sum())


def test_need_is_the_concurrency_rounded_up_and_dust_is_none(tmp_path: Path) -> None:
    cells: dict[int, object] = {0: "1.5e-5", 1: "0.000016", 2: 1, 3: "1.0001", 5: 12.5}
    trace = read_trace(write_matrix(tmp_path / "matrix.csv", {"0": cells}))
    assert trace.concurrency_given
    assert trace.need().tolist() == [[0, 1, 1, 2, 0, 13]]
    assert trace.need(10).tolist() == [[0, 1, 1, 1, 0, 2]]
    assert np.isnan(trace.count).all()
    assert np.isnan(trace.totals()).all()


def test_memory_comes_from_the_table_of_apps(tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path / "matrix.csv", {"7": {0: 1}, "8": {1: 1}, "9": {1: 1}})
    rows = [("8", 250, 1), ("7", "", 1), ("5", 10, 0), ("9", -4, 0)]
    apps = write_table(tmp_path / "apps.csv", ("app_id", "avg_mem_mb", "in_femux_result"), rows)
    trace = read_trace(matrix, apps=apps)
    assert trace.labels == ("7", "8", "9")
    assert trace.keys == ("app/7", "app/8", "app/9")
    assert trace.memory_mb.tolist() == [DEFAULT_MEMORY_MB, 250, DEFAULT_MEMORY_MB]
    assert trace.memory_imputed.tolist() == [True, False, True]
    assert trace.report.counters["no memory"] == 2
    assert str(trace.report.rejected[0]) == f"{apps}:5: avg_mem_mb: must be above 0 MB, is '-4'"
    assert read_concurrency(matrix, apps, only_published=True).labels == ("7", "8")


def test_the_published_apps_need_their_table(tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path / "matrix.csv", {"7": {0: 1}})
    with pytest.raises(InputError, match="table of apps"):
        read_concurrency(matrix, only_published=True)
    apps = write_table(tmp_path / "apps.csv", ("app_id", "avg_mem_mb"), [("7", 1)])
    with pytest.raises(InputError, match="in_femux_result"):
        read_concurrency(matrix, apps, only_published=True)


def test_an_app_twice_is_a_broken_row(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "m.csv", ["app_id,0,1", "1,0,2", "1,0,3", ",1,1"])
    trace = read_trace(path)
    assert trace.need().tolist() == [[0, 2]]
    assert [row.line for row in trace.report.rejected] == [3, 4]


def test_a_table_of_apps_beside_another_format_is_refused(tmp_path: Path) -> None:
    path = write_table(tmp_path / "log.csv", ("ts", "func"), [(1, "f")])
    with pytest.raises(InputError, match="belongs to a concurrency matrix"):
        read_trace(path, apps=path)


def test_the_public_set_repeats_the_published_cold_starts(traces_dir: Path) -> None:
    folder = traces_dir / "femux-azure2019"
    apps = folder / "knative100_apps.csv"
    trace = read_trace(folder / "knative100_avg_concurrency.csv", apps=apps)
    need = trace.need()
    assert (trace.functions, trace.minutes) == (100, 1440)
    assert cold_starts(need, 1) == 10_632
    assert cold_starts(need, 10) == 1_117
    published = read_concurrency(folder / "knative100_avg_concurrency.csv", apps, only_published=True)
    assert published.functions == 93
    assert cold_starts(published.need(), 10) == 1_076
    assert cold_starts(published.need(), 15) == 572


def test_exemplars_carry_how_often_they_occur(tmp_path: Path) -> None:
    minutes = range(1, 5)
    header = ",".join(["series_id", "daily_total", *map(str, minutes)])
    lines = [header, matrix_line(["3", "5"], minutes, {1: 2, 4: 3}), matrix_line(["4", "1"], minutes, {2: 1})]
    path = write_lines(tmp_path / "day.csv.gz", lines)
    assert read_exemplars(path).multiplicity is None
    columns = ("series_id", "daily_total", "count_in_sample_a", "count_in_sample_b")
    write_table(tmp_path / "day_multiplicity.csv", columns, [("3", 5, 10, 1), ("9", 2, 1, 1)])
    trace = read_trace(path)
    assert trace.format == "exemplars"
    assert trace.multiplicity is not None
    assert trace.multiplicity.tolist() == [11, 0]
    assert trace.dense_count().tolist() == [[2, 0, 0, 3], [0, 1, 0, 0]]


def test_a_series_that_does_not_add_up_is_left_out(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "day.csv", ["series_id,daily_total,1,2", "1,3,1,1", "2,2,1,1", "2,2,1,1"])
    trace = read_trace(path)
    assert trace.labels == ("2",)
    assert [row.line for row in trace.report.rejected] == [2, 4]


def test_the_public_exemplars_read_whole(traces_dir: Path) -> None:
    trace = read_trace(traces_dir / "azure2019-invitro" / "day_series_exemplars_1440.csv.gz")
    assert trace.functions == 1105
    assert trace.multiplicity is not None
    assert int(trace.multiplicity.sum()) == 2700


def test_regions_are_series_and_absent_minutes_are_unknown(tmp_path: Path) -> None:
    rows = [(0, 1438, 5, 0), (1, 0, 7, ""), (1, 1, 0, 2), (1, 1, 9, 9), (1, 1440, 1, 1), (1, 2, -1, 1)]
    path = write_table(tmp_path / "regions.csv", ("day", "minute", "R1", "R2"), rows)
    trace = read_trace(path)
    assert trace.labels == ("R1", "R2")
    assert (trace.start_minute, trace.minutes) == (1438, 4)
    dense = trace.dense_count()
    assert trace.known.tolist() == [True, False, True, True]
    assert np.nan_to_num(dense, nan=-1).tolist() == [[5, -1, 7, 0], [0, -1, -1, 2]]
    assert [row.line for row in trace.report.rejected] == [5, 6, 7]


def test_the_public_regions_read_whole(traces_dir: Path) -> None:
    trace = read_trace(traces_dir / "huawei2025-coldstarts")
    assert (trace.functions, trace.minutes) == (5, 31 * 1440)
    assert float(trace.totals().sum()) > 1e7
