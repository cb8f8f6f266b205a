"""A synthetic trace written as day files reads back equal, with its graph, calendar and shapes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.domain import FunctionKey, InputError
from prewarm.settings import Call
from prewarm.traces.calendar_entries import CalendarEntry, read_calendar, write_calendar
from prewarm.traces.call_graph import read_graph, write_graph
from prewarm.traces.detect import read_trace
from prewarm.traces.model import Trace
from prewarm.traces.synth import FIRST_MONDAY, synthesize
from prewarm.traces.synth_files import read_synthetic, write_synthetic
from tests.traces.files import write_lines

OF_THE_FILES = {"format", "sources", "sha256", "report"}


def assert_same(first: Trace, second: Trace) -> None:
    """Every field but those that speak of files."""
    for name in set(Trace.__slots__) - OF_THE_FILES:
        left, right = getattr(first, name), getattr(second, name)
        equal = np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right
        assert equal, name


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    functions=st.integers(1, 40),
    days=st.integers(1, 4),
    later=st.integers(0, 400),
    timezone=st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]),
)
def test_what_is_written_reads_back_equal(seed: int, functions: int, days: int, later: int, timezone: str) -> None:
    made = synthesize(seed, functions, days=days, start=FIRST_MONDAY + timedelta(days=later), timezone=timezone)
    with tempfile.TemporaryDirectory() as folder:
        write_synthetic(Path(folder), made)
        back = read_synthetic(Path(folder))
        plain = read_trace(folder, strict=True)
    assert_same(made.trace, back.trace)
    assert_same(made.trace, plain)
    assert (back.graph, back.calendar, back.shapes) == (made.graph, made.calendar, made.shapes)
    assert (back.timezone, back.seed) == (timezone, seed)


def test_the_folder_has_the_files_of_the_public_release(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    write_synthetic(tmp_path / "set", synthesize(1, 5, days=2), lambda day, days: told.append((day, days)))
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == [
        "app_memory_percentiles.anon.d01.csv",
        "app_memory_percentiles.anon.d02.csv",
        "calendar.csv",
        "function_durations_percentiles.anon.d01.csv",
        "function_durations_percentiles.anon.d02.csv",
        "graph.csv",
        "invocations_per_function_md.anon.d01.csv",
        "invocations_per_function_md.anon.d02.csv",
        "shapes.csv",
        "trace.json",
    ]
    assert told == [(1, 2), (2, 2)]
    assert read_trace(tmp_path / "set").report.counters == {}


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="must be empty or absent"):
        write_synthetic(tmp_path, synthesize(1, 2, days=1))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be made"):
        write_synthetic(tmp_path / "file" / "set", synthesize(1, 2, days=1))


@pytest.mark.parametrize("note", [None, "{", "[]", '{"timezone": "UTC", "seed": "x", "start_minute": 0}'])
def test_a_folder_without_its_note_is_no_synthetic_set(tmp_path: Path, note: str | None) -> None:
    write_synthetic(tmp_path / "set", synthesize(1, 2, days=1))
    if note is None:
        (tmp_path / "set" / "trace.json").unlink()
    else:
        write_lines(tmp_path / "set" / "trace.json", [note])
    with pytest.raises(InputError, match=r"trace\.json"):
        read_synthetic(tmp_path / "set")


KEYS = st.from_regex(r"[a-z]{1,8}/[a-z\"',;]{1,8}", fullmatch=True).map(FunctionKey)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.builds(Call, KEYS, KEYS, st.floats(0, 100), st.floats(0, 86_400), st.just(0.0)), max_size=5))
def test_graphs_read_back_equal(calls: list[Call]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_graph(Path(folder) / "graph.csv", calls)
        assert read_graph(Path(folder) / "graph.csv") == tuple(calls)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.builds(
            lambda key, name, start, length, notice, peak: CalendarEntry(
                key, name, start, start + length, start - notice, peak
            ),
            KEYS,
            st.from_regex(r"[a-z ,\"]{1,8}", fullmatch=True).map(str.strip),
            st.integers(10_000_000, 60_000_000),
            st.integers(1, 10_000),
            st.integers(0, 10_000),
            st.floats(0, 1e6),
        ),
        max_size=5,
    )
)
def test_calendars_read_back_equal(entries: list[CalendarEntry]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_calendar(Path(folder) / "calendar.csv", entries)
        assert read_calendar(Path(folder) / "calendar.csv") == tuple(entries)


@pytest.mark.parametrize(
    ("reader", "header", "row", "reason"),
    [
        (read_graph, "caller,callee,calls_per_invocation,delay_s", "a/b,c/d,-1,0", "calls_per_invocation"),
        (read_graph, "caller,callee,calls_per_invocation,delay_s", "a/b,c/d,1,soon", "delay_s"),
        (read_graph, "caller,callee,calls_per_invocation,delay_s", "a,c/d,1,0", "caller"),
        (
            read_calendar,
            "function,name,start,end,announced_at,peak_per_minute",
            "a/b,sale,2026-03-02T00:00:00Z,2026-03-01T00:00:00Z,2026-01-01T00:00:00Z,5",
            "end: must be after start",
        ),
        (
            read_calendar,
            "function,name,start,end,announced_at,peak_per_minute",
            "a/b,sale,2026-03-02T00:00:00Z,2026-03-03T00:00:00Z,2026-01-01T00:00:00Z,many",
            "peak_per_minute",
        ),
    ],
)
def test_broken_rows_of_the_tables_are_told(
    tmp_path: Path, reader: Callable[[Path], object], header: str, row: str, reason: str
) -> None:
    path = write_lines(tmp_path / "table.csv", [header, row])
    with pytest.raises(InputError, match=rf"table\.csv:2: {reason}"):
        reader(path)
