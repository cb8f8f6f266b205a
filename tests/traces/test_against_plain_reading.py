"""The readers against a plain reading of the same data, on random sets of valid files."""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.traces.detect import read_trace
from prewarm.traces.formats.azure2019 import read_azure2019
from tests.traces.files import DURATION_COLUMNS, DURATIONS, INVOCATIONS, write_lines, write_table

APPS, FUNCTIONS = ("a1", "a2"), ("f1", "f2", "f3")
KEY = st.tuples(st.sampled_from(APPS), st.sampled_from(FUNCTIONS))
DAY_ROWS = st.dictionaries(KEY, st.dictionaries(st.integers(1, 1440), st.integers(1, 99), max_size=4), max_size=5)
STATS = st.dictionaries(KEY, st.tuples(st.integers(1, 5000), st.integers(1, 50)), max_size=5)

Days = dict[int, dict[tuple[str, str], dict[int, int]]]


def write_day(folder: Path, day: int, rows: dict[tuple[str, str], dict[int, int]], shuffle: random.Random) -> None:
    """One day's invocations with columns and rows in a random order."""
    columns = ["HashOwner", "HashApp", "HashFunction", "Trigger", *map(str, range(1, 1441))]
    shuffle.shuffle(columns)
    lines = [",".join(columns)]
    for (app, function), counts in rows.items():
        named = {"HashOwner": "o", "HashApp": app, "HashFunction": function, "Trigger": "http"}
        lines.append(",".join(named.get(column) or str(counts.get(int(column), 0)) for column in columns))
    write_lines(folder / INVOCATIONS.format(day=day), lines, end=shuffle.choice(["\n", "\r\n"]), bom=day % 2 == 0)


def plain_counts(days: Days) -> dict[str, dict[int, int]]:
    """Counts by function label and minute since the first day."""
    first = min(days)
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    for day, rows in days.items():
        for (app, function), cells in rows.items():
            series = counts[f"{app}/{function}"]
            for column, value in cells.items():
                series[(day - first) * 1440 + column - 1] = value
    return counts


@settings(max_examples=40, deadline=None)
@given(
    days=st.dictionaries(st.integers(1, 4), DAY_ROWS, min_size=1, max_size=3),
    stats=st.dictionaries(st.integers(1, 4), STATS, max_size=3),
    seed=st.integers(0, 999),
)
def test_day_files_read_as_they_were_meant(
    days: Days, stats: dict[int, dict[tuple[str, str], tuple[int, int]]], seed: int
) -> None:
    if not any(days.values()):
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for day, rows in days.items():
            write_day(folder, day, rows, random.Random(seed + day))
        for day, values in stats.items():
            table = [("o", *key, average, weight, average) for key, (average, weight) in values.items()]
            write_table(folder / DURATIONS.format(day=day), DURATION_COLUMNS, table)
        files = list(folder.iterdir())
        random.Random(seed).shuffle(files)
        trace = read_azure2019(files, strict=True)
    expected = plain_counts(days)
    assert sorted(trace.keys) == sorted(expected)
    assert trace.minutes == (max(days) - min(days) + 1) * 1440
    assert trace.start_minute == (min(days) - 1) * 1440
    for row, key in enumerate(trace.keys):
        entries = slice(trace.indptr[row], trace.indptr[row + 1])
        got = dict(zip(trace.minute[entries].tolist(), trace.count[entries].tolist(), strict=True))
        assert got == expected[key]
        app, function = key.split("/")
        seen_on = [day for day in days if (app, function) in days[day]]
        assert trace.first_seen[row] == (min(seen_on) - min(days)) * 1440
        pairs = [values[app, function] for values in stats.values() if (app, function) in values]
        assert trace.duration_imputed[row] == (not pairs)
        if pairs:
            average = sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)
            assert abs(trace.duration_ms[row] - average) < 1e-6
    covered = [(day - min(days)) in {other - min(days) for other in days} for day in range(min(days), max(days) + 1)]
    assert trace.known[::1440].tolist() == covered


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(FUNCTIONS), st.integers(0, 400_000), st.integers(0, 300_000)), min_size=1, max_size=25
    ),
    st.integers(1, 40_000_000),
)
def test_concurrency_of_a_log_is_the_busy_time_of_each_minute(
    requests: list[tuple[str, int, int]], start_minute: int
) -> None:
    origin_ms = start_minute * 60_000
    with tempfile.TemporaryDirectory() as name:
        rows = [(f"{(origin_ms + at) / 1000:.3f}", function, duration) for function, at, duration in requests]
        trace = read_trace(write_table(Path(name) / "log.csv", ("ts", "func", "duration_ms"), rows), strict=True)
    begin_ms = trace.start_minute * 60_000 - origin_ms
    assert begin_ms == min(at for _, at, _ in requests) // 60_000 * 60_000
    for row, label in enumerate(trace.labels):
        for minute in range(trace.minutes):
            low = begin_ms + minute * 60_000
            own = [(at, at + duration) for function, at, duration in requests if function == label]
            busy = sum(max(0, min(end, low + 60_000) - max(at, low)) for at, end in own) / 60_000
            started = sum(low <= at < low + 60_000 for at, _ in own)
            entry = (
                np.flatnonzero(trace.minute[trace.indptr[row] : trace.indptr[row + 1]] == minute) + trace.indptr[row]
            )
            assert float(trace.concurrency[entry].sum()) == pytest.approx(busy, abs=2e-5)
            assert float(trace.count[entry].sum()) == started
