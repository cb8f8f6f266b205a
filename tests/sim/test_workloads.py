"""From a trace to what is simulated: needs by the minute, and calls by the second, known and unknown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import InputError
from prewarm.sim import workloads
from prewarm.sim.startup import ConstantStart
from prewarm.sim.workloads import InstanceKind, calls_of_concurrency, minute_workload, request_functions, spread
from prewarm.traces.detect import read_trace

KIND = InstanceKind(100, ConstantStart(1.0))


def matrix(folder: Path, rows: list[str]) -> Path:
    path = folder / "matrix.csv"
    width = rows[0].count(",")
    path.write_text("\n".join(["app_id," + ",".join(map(str, range(width))), *rows]) + "\n")
    return path


def test_a_concurrency_matrix_gives_needs_and_memory(tmp_path: Path) -> None:
    (tmp_path / "apps.csv").write_text("app_id,avg_mem_mb\n7,250\n9,100\n")
    path = matrix(tmp_path, ["7,0,0.5,1.2", "9,0.00001,0,3"])
    made = minute_workload(read_trace(path, apps=tmp_path / "apps.csv"))
    assert made.need.tolist() == [[0, 1, 2], [0, 0, 3]]
    assert made.memory_gb.tolist() == [0.25, 0.1]
    assert made.concurrency[0].tolist() == pytest.approx([0.0, 0.5, 1.2])
    assert not made.binary
    assert made.unknown is None
    assert made.calls is None


def test_an_empty_cell_is_unknown_and_not_scored(tmp_path: Path) -> None:
    made = minute_workload(read_trace(matrix(tmp_path, ["7,0,,1"])))
    assert made.unknown is not None
    assert made.unknown.tolist() == [[False, True, False]]
    assert made.need.tolist() == [[0, 0, 1]]
    assert not np.isnan(made.concurrency).any()


def azure(folder: Path) -> Path:
    path = folder / "invocations.csv"
    path.write_text("HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,0,3,1\no,a,g,timer,2,0,0\n")
    return path


def test_counts_are_called_or_not(tmp_path: Path) -> None:
    made = minute_workload(read_trace(azure(tmp_path)))
    assert made.binary
    assert made.need.tolist() == [[0, 1, 1], [1, 0, 0]]
    assert np.isnan(made.memory_gb).all()
    assert made.calls is not None
    assert made.calls.tolist() == [[0, 3, 1], [2, 0, 0]]
    first = made.first(2).calls
    assert first is not None
    assert first.tolist() == [[0, 3], [2, 0]]


def test_counts_are_spread_over_their_minutes(tmp_path: Path) -> None:
    first, second = request_functions(read_trace(azure(tmp_path)), KIND, rng=np.random.default_rng(1))
    assert (first.arrival // 60).tolist() == [1, 1, 1, 2]
    assert (second.arrival // 60).tolist() == [0, 0]
    assert first.service.tolist() == [0.703] * 4
    assert first.concurrency_limit == 100


def test_the_same_seed_spreads_the_same(tmp_path: Path) -> None:
    trace = read_trace(azure(tmp_path))
    one, two, other = (request_functions(trace, KIND, rng=np.random.default_rng(seed))[0] for seed in (1, 1, 2))
    assert one.arrival.tolist() == two.arrival.tolist() != other.arrival.tolist()


def test_single_requests_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("app,func,end_timestamp,duration\na,f,100.5,0.5\na,f,40.0,2.0\na,g,61.0,1.0\n")
    functions = {each.key: each for each in request_functions(read_trace(path), KIND, rng=np.random.default_rng(1))}
    busiest = max(functions.values(), key=lambda each: len(each.arrival))
    assert busiest.arrival.tolist() == pytest.approx([38.0, 100.0])
    assert busiest.service.tolist() == pytest.approx([2.0, 0.5])


def test_calls_follow_from_concurrency_and_duration() -> None:
    concurrency = np.array([[0.0, 0.01, 0.5, 1e-6, 0.0001, np.nan]])
    found = calls_of_concurrency(concurrency, np.array([0.3]))
    assert found[0, :5].tolist() == [0.0, 2.0, 100.0, 0.0, 1.0]
    assert np.isnan(found[0, 5])


def test_more_requests_than_memory_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MAX_REQUESTS", 3)
    with pytest.raises(InputError, match="too many for the request mode"):
        request_functions(read_trace(azure(tmp_path)), KIND, rng=np.random.default_rng(1))


@given(st.lists(st.integers(0, 20) | st.none(), max_size=20))
def test_every_call_stays_in_its_minute(calls: list[int | None]) -> None:
    counts = np.array([np.nan if each is None else each for each in calls], dtype=np.float64)
    moments = spread(counts, np.random.default_rng(1))
    assert np.all(np.diff(moments) >= 0)
    found = np.bincount((moments // 60).astype(int), minlength=len(calls)) if calls else np.zeros(0)
    assert found.tolist() == [each or 0 for each in calls]
