"""No bytes whatsoever make a reader fail with anything but InputError, and what it accepts is sound."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prewarm.domain import InputError
from prewarm.traces.detect import read_trace
from prewarm.traces.formats.concurrency import read_concurrency
from prewarm.traces.model import Trace

HEADERS = {
    "invocations": ["HashOwner", "HashApp", "HashFunction", "Trigger", "1", "2", "3"],
    "durations": ["HashOwner", "HashApp", "HashFunction", "Average", "Count", "percentile_Average_50"],
    "memory": ["HashOwner", "HashApp", "SampleCount", "AverageAllocatedMb", "AverageAllocatedMb_pct50"],
    "azure2021": ["app", "func", "end_timestamp", "duration"],
    "concurrency": ["app_id", "0", "1", "2"],
    "apps": ["app_id", "avg_mem_mb", "in_femux_result"],
    "exemplars": ["series_id", "daily_total", "1", "2"],
    "multiplicity": ["series_id", "count_in_sample_a"],
    "regions": ["day", "minute", "R1", "R2"],
    "log": ["timestamp", "function", "duration_ms", "id", "namespace"],
}
TRACES = ["invocations", "azure2021", "concurrency", "exemplars", "regions", "log"]

CELL = st.one_of(
    st.integers(-2, 5).map(str),
    st.sampled_from(
        ["", " ", "a", "a/b", "%", "nan", "inf", "-inf", "1e308", "1e-320", "0x1", "1_0", "2.0", "9" * 30, "\u0663"]
    ),
    st.sampled_from(
        ['"', '"a,b"', '""', "\x00", "\ufeff", "=1+1", "2026-03-01T00:00:00Z", "2026-03-01", "1772323200", "1e18"]
    ),
    st.text(max_size=8),
    st.floats(width=32).map(str),
)
TAME = st.integers(0, 3).map(str)  # so that some rows are good
END = st.sampled_from(["\n", "\r\n", "\n\n", "\r"])


@st.composite
def table(draw: st.DrawFn, kind: str) -> bytes:
    """A file of the kind with columns in any order, some missing or twice, and cells of every sort."""
    columns = draw(st.permutations(HEADERS[kind]))
    if draw(st.integers(0, 9)) == 0:
        columns = columns[: draw(st.integers(0, len(columns)))] + draw(st.lists(CELL, max_size=2))
    width = st.integers(0, len(columns) + 1) if draw(st.integers(0, 4)) == 0 else st.just(len(columns))
    rows = [columns]
    for _ in range(draw(st.integers(0, 6))):
        cells = draw(width)
        rows.append(draw(st.lists(draw(st.sampled_from([TAME, CELL])), min_size=cells, max_size=cells)))
    end = draw(END)
    text = "".join(",".join(row) + end for row in rows)
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode("utf-8", "surrogatepass")


def check_sound(trace: Trace) -> None:
    """What a reader accepted obeys the model's own promises."""
    assert trace.functions == len(set(trace.keys)) >= 1
    assert len(trace.known) == trace.minutes >= 1
    assert trace.indptr[0] == 0
    assert trace.indptr[-1] == len(trace.minute) == len(trace.count) == len(trace.concurrency)
    assert bool((np.diff(trace.indptr) >= 0).all())
    for row in range(trace.functions):
        minutes = trace.minute[trace.indptr[row] : trace.indptr[row + 1]]
        assert bool((np.diff(minutes) > 0).all())
    if len(trace.minute):
        assert 0 <= trace.minute.min() <= trace.minute.max() < trace.minutes
    assert not (trace.count < 0).any()
    assert not (trace.concurrency < 0).any()
    assert bool((np.isfinite(trace.duration_ms) & (trace.duration_ms >= 0)).all())
    assert bool((np.isfinite(trace.memory_mb) & (trace.memory_mb > 0)).all())
    assert bool(((trace.first_seen >= 0) & (trace.first_seen <= trace.minutes)).all())
    assert len(trace.sha256) == 64


def read_or_refuse(files: dict[str, bytes], *, strict: bool) -> Trace | None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        try:
            return read_trace(folder, strict=strict)
        except InputError as error:
            assert "\n" not in str(error).replace(folder, "")
            return None


@pytest.mark.parametrize("kind", TRACES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), strict=st.booleans(), packed=st.booleans())
def test_odd_tables_are_read_soundly_or_refused(kind: str, data: st.DataObject, strict: bool, packed: bool) -> None:
    content = data.draw(table(kind))
    name = f"{kind}.csv.gz" if packed else f"{kind}.csv"
    trace = read_or_refuse({name: gzip.compress(content) if packed else content}, strict=strict)
    if trace is not None:
        check_sound(trace)
        assert not (strict and trace.report.rejected_rows)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(durations=table("durations"), memory=table("memory"), second=table("invocations"))
def test_odd_statistics_beside_good_invocations_keep_the_functions(
    durations: bytes, memory: bytes, second: bytes
) -> None:
    good = b"HashOwner,HashApp,HashFunction,Trigger,1,2\n0,1,2,http,1,0\na,a/b,2,timer,0,3\n"
    files = {"a.d01.csv": good, "b.d01.csv": durations, "c.d02.csv": memory, "d.d02.csv": second}
    trace = read_or_refuse(files, strict=False)
    if trace is not None:
        check_sound(trace)
        assert {"2"} <= set(trace.labels)
        assert bool((trace.duration_ms > 0).all())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(matrix=table("concurrency"), apps=table("apps"))
def test_odd_tables_of_apps_give_positive_memory_or_are_refused(matrix: bytes, apps: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "matrix.csv", Path(folder) / "apps.csv"
        for path, content in zip(paths, (matrix, apps), strict=True):
            path.write_bytes(content)
        try:
            trace = read_concurrency(*paths)
        except InputError:
            return
        check_sound(trace)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(exemplars=table("exemplars"), multiplicity=table("multiplicity"))
def test_odd_multiplicities_are_read_or_refused(exemplars: bytes, multiplicity: bytes) -> None:
    trace = read_or_refuse({"day.csv": exemplars, "day_multiplicity.csv": multiplicity}, strict=False)
    if trace is not None and trace.multiplicity is not None:
        assert bool((trace.multiplicity >= 0).all())


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=200), cut=st.integers(0, 60))
def test_any_bytes_are_refused_in_one_line(content: bytes, cut: int) -> None:
    for data in (content, gzip.compress(content)[:-cut], b"\xef\xbb\xbf" + content, b"\xff\xfe" + content):
        trace = read_or_refuse({"any.csv": data}, strict=False)
        if trace is not None:
            check_sound(trace)
