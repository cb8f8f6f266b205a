"""A replay from file to rows, files and figure, in both modes."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from prewarm.domain import InputError
from prewarm.sim import replay as replay_module
from prewarm.sim import report
from prewarm.sim.replay import Replay, ReplayOptions, replay, waits
from prewarm.traces.detect import read_trace
from prewarm.traces.model import Trace

NAMES = ["kpa", "ka-10", "clairvoyant"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Two apps over an hour: one called every five minutes, one once."""
    folder = tmp_path_factory.mktemp("trace")
    first = ["0.2" if minute % 5 == 0 else "0" for minute in range(60)]
    second = ["1.5" if minute == 30 else "0" for minute in range(60)]
    header = "app_id," + ",".join(map(str, range(60)))
    (folder / "m.csv").write_text("\n".join([header, "a," + ",".join(first), "b," + ",".join(second)]) + "\n")
    (folder / "apps.csv").write_text("app_id,avg_mem_mb\na,100\nb,200\n")
    return read_trace(folder / "m.csv", apps=folder / "apps.csv")


@pytest.fixture(scope="module")
def by_minute(trace: Trace) -> Replay:
    return replay(trace, NAMES, ReplayOptions())


@pytest.fixture(scope="module")
def by_request(trace: Trace) -> Replay:
    return replay(trace, ["kpa", "ka-10", "hh-1h", "clairvoyant"], ReplayOptions(mode="request", seed=3))


def test_every_policy_gets_its_row_in_the_order_asked_for(by_minute: Replay) -> None:
    assert [(row.name, row.score.cold) for row in by_minute.policies] == [("kpa", 14), ("ka-10", 3), ("clairvoyant", 0)]
    assert all(row.wait_ms is None for row in by_minute.policies)


def test_allocations_can_be_recounted_from_the_files(trace: Trace, tmp_path: Path) -> None:
    result = replay(trace, NAMES, ReplayOptions(allocations=tmp_path / "out"))
    for row in result.policies:
        with (tmp_path / "out" / f"{row.name}.csv").open(newline="") as file:
            lines = list(csv.reader(file))
        assert lines[0] == ["app_id", *map(str, range(60))]
        assert [line[0] for line in lines[1:]] == ["a", "b"]
        kept = np.array([line[1:] for line in lines[1:]], dtype=int)
        assert int(np.maximum(result.workload.need - kept, 0).sum()) == row.score.cold


def test_a_folder_that_cannot_be_made_is_named(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/kpa\.csv: cannot be written"):
        replay(trace, ["kpa"], ReplayOptions(allocations=tmp_path / "file"))


def test_requests_wait_less_the_more_is_known(by_request: Replay) -> None:
    cold = {row.name: row.score.cold for row in by_request.policies}
    assert cold["kpa"] > cold["ka-10"] >= cold["hh-1h"]
    assert cold["clairvoyant"] <= cold["hh-1h"]
    for row in by_request.policies:
        assert row.wait_ms is not None
        assert 0 <= row.wait_ms.p50 <= row.wait_ms.p95 <= row.wait_ms.p99
        assert row.score.rum is None
    assert by_request.policies[1].score.waste_vs_ka10 == 1.0


def test_a_seed_decides_what_the_request_mode_draws(trace: Trace, by_request: Replay) -> None:
    again = replay(trace, ["kpa"], ReplayOptions(mode="request", seed=3)).policies[0]
    other = replay(trace, ["kpa"], ReplayOptions(mode="request", seed=4)).policies[0]
    assert again.wait_ms == by_request.policies[0].wait_ms
    assert other.wait_ms != again.wait_ms


def test_progress_runs_from_policy_to_policy(trace: Trace) -> None:
    told: list[tuple[float, str]] = []
    replay(trace, NAMES, ReplayOptions(), progress=lambda share, name: told.append((share, name)))
    assert [name for _, name in told] == NAMES
    assert [share for share, _ in told] == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_a_large_trace_is_replayed_in_parts_with_the_same_result(
    trace: Trace, by_minute: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay(trace, NAMES, ReplayOptions(allocations=tmp_path / "whole"))
    monkeypatch.setattr(replay_module, "PART_CELLS", 60)
    told: list[float] = []
    parts = replay(trace, NAMES, ReplayOptions(allocations=tmp_path / "parts"), progress=lambda s, _: told.append(s))
    for part, whole in zip(parts.policies, by_minute.policies, strict=True):
        assert asdict(part.score) == pytest.approx(asdict(whole.score))
    assert parts.workload.keys == by_minute.workload.keys[:1]
    assert told == pytest.approx([step / 6 for step in range(1, 7)])
    for name in NAMES:
        assert (tmp_path / "parts" / f"{name}.csv").read_text() == (tmp_path / "whole" / f"{name}.csv").read_text()


def test_a_cache_cannot_be_replayed_in_parts(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_module, "PART_CELLS", 60)
    with pytest.raises(InputError, match="faascache-1': needs all 2 functions at once"):
        replay(trace, ["faascache-1"], ReplayOptions())


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, math.nan])
def test_a_weight_must_be_a_positive_number(weight: float) -> None:
    with pytest.raises(InputError, match="cold weight"):
        ReplayOptions(cold_weight=weight)


def test_allocations_belong_to_the_minute_mode(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="decided by the minute"):
        ReplayOptions(mode="request", allocations=tmp_path)


def test_waits_are_exact_and_count_time_outs_whole() -> None:
    found = waits([np.array([0.0, 0.1, np.nan]), np.array([np.inf])], timeout_s=30.0)
    assert found is not None
    assert (found.p50, found.p99) == pytest.approx((100.0, 29402.0))
    assert waits([np.array([np.nan])]) is None
    assert waits([]) is None


def test_json_bears_the_agreed_names(by_minute: Replay, by_request: Replay) -> None:
    body = json.loads(json.dumps(report.to_json(by_minute, Path("traces/m.csv"))))
    assert body["trace"]["path"] == "traces/m.csv"
    assert body["trace"]["sha256"] == by_minute.trace.sha256
    assert (body["trace"]["functions"], body["trace"]["minutes"], body["trace"]["rejected_rows"]) == (2, 60, 0)
    assert body["mode"] == "minute"
    agreed = "name cold cold_rate cold_rate_p50 cold_rate_p75 cold_rate_p90 always_cold waste_gb_s waste_vs_ka10 rum"
    assert set(agreed.split()) <= set(body["policies"][0])
    assert body["policies"][0]["wait_ms"] is None
    requested = json.loads(json.dumps(report.to_json(by_request, Path("m.csv"))))
    assert set(requested["policies"][0]["wait_ms"]) == {"p50", "p95", "p99"}
    assert requested["policies"][0]["rum"] is None


def shown(result: Replay) -> str:
    console = Console(width=200, record=True, file=None, quiet=False)
    with console.capture() as capture:
        console.print(report.to_table(result))
    return capture.get()


def test_the_table_shows_what_applies(by_minute: Replay, by_request: Replay) -> None:
    minute, request = shown(by_minute), shown(by_request)
    assert "RUM" in minute
    assert "wait" not in minute
    assert "RUM" not in request
    assert "wait P50 ms" in request
    assert minute.splitlines()[1].split()[:2] == ["kpa", "14"]


def test_a_function_level_set_is_shown_in_minutes(tmp_path: Path) -> None:
    path = tmp_path / "invocations.csv"
    path.write_text("HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,0,3,1\no,a,g,timer,0,0,0\n")
    result = replay(read_trace(path), ["ka-10"], ReplayOptions())
    assert "waste min" in shown(result)
    assert "RUM" not in shown(result)
    assert report.to_json(result, path)["policies"] == [
        {
            "name": "ka-10",
            "cold": 1,
            "cold_rate": 0.5,
            "cold_rate_p50": 0.5,
            "cold_rate_p75": 0.5,
            "cold_rate_p90": 0.5,
            "always_cold": 0.0,
            "waste_gb_s": None,
            "waste_minutes": 0.0,
            "waste_vs_ka10": None,
            "rum": None,
            "needed": 2,
            "wait_ms": None,
        }
    ]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_figure_is_drawn_in_the_format_of_its_ending(by_minute: Replay, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"costs.{ending}"
    report.draw(by_minute, path)
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


def test_a_figure_of_requests_has_no_day_but_is_drawn(by_request: Replay, tmp_path: Path) -> None:
    report.draw(by_request, tmp_path / "costs.png")
    assert (tmp_path / "costs.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["costs.nonsense", "absent/costs.png"])
def test_a_figure_that_cannot_be_drawn_is_named(by_minute: Replay, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be drawn"):
        report.draw(by_minute, tmp_path / name)
