"""Request logs and the Azure 2021 trace: times, durations, true concurrency, and rows that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.traces.detect import read_trace
from prewarm.traces.formats.azure2021 import COLUMNS
from prewarm.traces.formats.requestlog import epoch_seconds
from prewarm.traces.model import DEFAULT_DURATION_MS
from tests.traces.files import write_lines, write_table

MIDNIGHT = 1_772_323_200  # 2026-03-01T00:00:00Z


def test_a_log_becomes_counts_by_the_minute_of_arrival(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.csv",
        [
            "function,timestamp,status",
            "shop/cart,2026-03-01T00:00:10Z,200",
            "shop/cart,2026-03-01T01:00:59.999+01:00,500",
            "pay,2026-03-01T00:03:00Z,200",
        ],
    )
    trace = read_trace(path)
    assert trace.format == "requestlog"
    assert trace.keys == ("shop/cart", "log/pay")
    assert trace.start_minute == MIDNIGHT // 60
    assert trace.dense_count().tolist() == [[2, 0, 0, 0], [0, 0, 0, 1]]
    assert trace.first_seen.tolist() == [0, 3]
    assert not trace.concurrency_given
    assert trace.need().tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1772323200", MIDNIGHT, id="seconds"),
        pytest.param("1772323200.25", MIDNIGHT + 0.25, id="fraction"),
        pytest.param("1772323200250", MIDNIGHT + 0.25, id="milliseconds"),
        pytest.param("1772323200250000", MIDNIGHT + 0.25, id="microseconds"),
        pytest.param("1772323200250000000", MIDNIGHT + 0.25, id="nanoseconds"),
        pytest.param("2026-03-01T00:00:00Z", MIDNIGHT, id="RFC 3339"),
        pytest.param("2026-03-01T05:30:00+05:30", MIDNIGHT, id="another zone"),
        pytest.param("12.5", 12.5, id="seconds from the start of a test"),
    ],
)
def test_a_time_is_told_by_its_size_or_form(text: str, expected: float) -> None:
    assert epoch_seconds(text) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "text", ["", "soon", "-1", "nan", "inf", "1e30", "2026-03-01T00:00:00", "2026-13-01T00:00:00Z"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="timestamp"):
        epoch_seconds(text)


def test_durations_give_the_share_of_each_minute_that_was_busy(tmp_path: Path) -> None:
    rows = [(MIDNIGHT + 30, "f", 60_000), (MIDNIGHT, "f", 60_000), (MIDNIGHT + 60, "g", 500)]
    trace = read_trace(write_table(tmp_path / "log.csv", ("ts", "func", "duration_ms"), rows))
    assert trace.concurrency_given
    assert trace.dense_concurrency() == pytest.approx(np.array([[1.5, 0.5], [0, 0.5 / 60]]))
    assert trace.dense_count().tolist() == [[2, 0], [0, 1]]
    assert trace.need().tolist() == [[2, 1], [0, 1]]
    assert trace.need(2).tolist() == [[1, 1], [0, 1]]
    assert trace.report.counters["rows out of order"] == 1


def test_a_request_that_lasts_hours_is_busy_in_each_of_its_minutes(tmp_path: Path) -> None:
    rows = [(MIDNIGHT + 6, "f", 2 * 3_600_000)]
    trace = read_trace(write_table(tmp_path / "log.csv", ("time", "service", "duration_ms"), rows))
    busy = trace.dense_concurrency()[0]
    assert len(busy) == 121
    assert busy[[0, 1, 119, 120]] == pytest.approx([0.9, 1, 1, 0.1])
    assert float(busy.sum()) == pytest.approx(120)
    assert trace.count.sum() == 1


def test_missing_durations_take_the_mean_of_their_function_or_the_default(tmp_path: Path) -> None:
    rows = [(MIDNIGHT, "f", 100), (MIDNIGHT, "f", ""), (MIDNIGHT, "f", 300), (MIDNIGHT, "g", "")]
    trace = read_trace(write_table(tmp_path / "log.csv", ("ts", "func", "duration_ms"), rows))
    assert trace.duration_ms.tolist() == [200.0, DEFAULT_DURATION_MS]
    assert trace.duration_imputed.tolist() == [False, True]
    assert trace.report.counters["requests without a duration"] == 2
    assert trace.requests is not None
    assert np.isnan(trace.requests.duration_ms).sum() == 2


def test_a_repeated_id_is_one_request_and_equal_rows_without_ids_are_two(tmp_path: Path) -> None:
    with_ids = write_table(tmp_path / "a.csv", ("ts", "func", "id"), [(MIDNIGHT, "f", "x"), (MIDNIGHT, "f", "x")])
    without = write_table(tmp_path / "b.csv", ("ts", "func"), [(MIDNIGHT, "f"), (MIDNIGHT, "f")])
    assert read_trace(with_ids).totals().tolist() == [1]
    assert read_trace(with_ids).report.counters["repeated ids"] == 1
    assert read_trace(without).totals().tolist() == [2]


def test_the_longest_silence_is_told(tmp_path: Path) -> None:
    rows = [(MIDNIGHT, "f"), (MIDNIGHT + 60, "f"), (MIDNIGHT + 9_060, "f")]
    trace = read_trace(write_table(tmp_path / "log.csv", ("ts", "func"), rows))
    assert trace.report.counters["longest silence in minutes"] == 150


def test_a_time_stamp_far_from_all_others_is_a_broken_row(tmp_path: Path) -> None:
    rows = [(MIDNIGHT, "f"), (MIDNIGHT + 60, "f"), (5, "lost"), (MIDNIGHT, "f")]
    path = write_table(tmp_path / "log.csv", ("ts", "func"), rows)
    trace = read_trace(path)
    assert trace.labels == ("f",)
    assert trace.minutes == 2
    assert str(trace.report.rejected[0]) == f"{path}:4: is more than 400 days from the other time stamps"
    assert trace.report.rows_read == 3


def test_of_two_requests_far_apart_the_earlier_is_kept(tmp_path: Path) -> None:
    trace = read_trace(write_table(tmp_path / "log.csv", ("ts", "func"), [(MIDNIGHT, "late"), (0, "early")]))
    assert trace.labels == ("early",)
    assert trace.report.rejected_rows == 1


def test_azure_2021_rows_start_before_their_end(tmp_path: Path) -> None:
    rows = [("app1", "f", 70.0, 20.0), ("app1", "g", 5.0, 10.0), ("app2", "f", 130.0, 0)]
    trace = read_trace(write_table(tmp_path / "calls.csv", COLUMNS, rows))
    assert trace.format == "azure2021"
    assert trace.keys == ("app1/f", "app1/g", "app2/f")
    assert (trace.start_minute, trace.minutes) == (-1, 4)
    assert trace.dense_count().tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
    assert trace.dense_concurrency()[0] == pytest.approx([0, 10 / 60, 10 / 60, 0])
    assert trace.need().tolist() == [[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param(("a", "f", "x", 1), "end_timestamp: must be seconds, is 'x'", id="time"),
        pytest.param(("a", "f", 1, -1), "duration: must be 0 to 604800 seconds, is '-1'", id="negative duration"),
        pytest.param(("a", "f", 1, "nan"), "duration: must be 0 to 604800 seconds, is 'nan'", id="no number"),
        pytest.param(("a", "", 1, 1), "func must not be empty", id="no function"),
        pytest.param(("a", "f", 1), "has 3 cells where the header has 4", id="short row"),
    ],
)
def test_broken_rows_of_azure_2021_are_left_out(tmp_path: Path, row: tuple[object, ...], reason: str) -> None:
    path = write_table(tmp_path / "calls.csv", COLUMNS, [row, ("a", "f", 5, 1)])
    trace = read_trace(path)
    assert str(trace.report.rejected[0]) == f"{path}:2: {reason}"
    with pytest.raises(InputError, match=":2: "):
        read_trace(path, strict=True)


def test_the_public_azure_2021_sample_reads_whole(traces_dir: Path) -> None:
    trace = read_trace(traces_dir / "azure2021-invitro")
    assert trace.requests is not None
    assert len(trace.requests.start_s) == 199
    assert float(trace.totals().sum()) == 199
    assert trace.report.rejected_rows == 0
    spent_minutes = float(np.nansum(trace.requests.duration_ms.astype(float))) / 60_000
    assert float(trace.concurrency.astype(float).sum()) == pytest.approx(spent_minutes, rel=1e-5)
