"""The latency benchmark: each way of knowing on a small promotion, and what the whole run reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prewarm.bench import latency, latency_cases
from prewarm.bench.latency import judge, percentiles
from prewarm.bench.latency_cases import CaseRuns, PromotionCase, run_case
from prewarm.bench.latency_fleet import fleet_rows, read_fleet
from prewarm.domain import InputError
from prewarm.sim.startup import ConstantStart, LogNormalStart

LAW = LogNormalStart.of_mean_sd(2.3, 1.15)


@pytest.fixture(scope="module")
def step() -> CaseRuns:
    return run_case(PromotionCase(0.0, 10, 20.0, LAW), seed=1)


def test_known_promotions_wait_for_nothing(step: CaseRuns) -> None:
    assert step.cold.sum() > 10_000
    for name in ("announced", "repeating"):
        waited = percentiles(step.cold_path_ms(name))
        assert waited["p95_ms"] is not None
        assert waited["p95_ms"] <= 250.0
        assert waited["p99_ms"] is not None
        assert waited["p99_ms"] <= 300.0


def test_an_unannounced_one_waits_hardly_longer_than_under_knative_with_far_fewer_instances(step: CaseRuns) -> None:
    ours, theirs = step.cold_path_ms("unannounced"), step.cold_path_ms("kpa")
    assert np.quantile(ours, 0.99) <= 1.05 * np.quantile(theirs, 0.99)
    most = {name: outcome.timeline[:, 1].max() for name, outcome in step.runs.items()}
    assert most["unannounced"] < most["kpa"] / 4


def test_no_rule_without_notice_beats_its_floor(step: CaseRuns) -> None:
    assert step.floor_s is not None
    floor_ms = 1000.0 * step.floor_s[step.cold]
    for level in (0.5, 0.95, 0.99):
        assert np.quantile(floor_ms, level) <= np.quantile(step.cold_path_ms("unannounced"), level)


def test_announced_instances_are_there_before_the_first_call(step: CaseRuns) -> None:
    timeline = step.runs["announced"].timeline
    ready_at_start = timeline[timeline[:, 0] <= latency_cases.STARTS_S][-1, 2]
    assert ready_at_start >= 71
    assert timeline[timeline[:, 1] > 0][0, 0] > latency_cases.STARTS_S - 30.0


def test_a_slow_control_plane_is_given_more_time() -> None:
    found = run_case(PromotionCase(0.0, 10, 2.0, ConstantStart(2.3)), seed=1)
    assert percentiles(found.cold_path_ms("announced"))["p99_ms"] == 0.0
    judged = judge(found)
    assert judged.absorbed["announced"].absorb_s == 0
    unannounced = judged.absorbed["unannounced"].absorb_s
    assert unannounced is not None
    assert unannounced > 30


def test_without_a_limit_on_starts_there_is_no_floor_in_closed_form() -> None:
    found = run_case(PromotionCase(10.0, 100, None, ConstantStart(0.808)), seed=1)
    assert found.floor_s is None
    assert judge(found).floor is None


def test_the_same_seed_gives_the_same_figures() -> None:
    case = PromotionCase(60.0, 100, 20.0, LAW)
    first, second = (judge(run_case(case, seed=5)) for _ in range(2))
    assert first == second


def test_percentiles_of_nothing_are_unknown() -> None:
    assert percentiles(np.zeros(0)) == {"p50_ms": None, "p95_ms": None, "p99_ms": None}


def test_missing_traces_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"init_duration_ms\.csv: is missing"):
        latency.run(tmp_path, seed=0)


def test_the_quick_run_meets_its_goals(traces_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "RAMPS_S", (0.0,))
    monkeypatch.setattr(latency, "LIMITS", (10,))
    monkeypatch.setattr(latency, "START_RATES", (20.0,))
    monkeypatch.setattr(latency, "OTHERS", latency.OTHERS[:1])
    told: list[str] = []
    result = latency.run(
        traces_dir, seed=2, quick=True, progress=lambda share, doing: told.append(f"{share:.2f} {doing}")
    )
    assert {goal.name for goal in result.goals} >= {"p95_ms", "p99_ms", "absorb_s", "absorb_unannounced_s"}
    assert result.met
    kinds = [row.get("promotion") or row.get("start-up law") for row in result.rows]
    assert kinds[:5] == ["kpa", "announced", "repeating", "unannounced", "floor, unannounced"]
    assert kinds[5:] == ["constant 0.808 s"]
    assert told[0].startswith("0.00 promotion")
    assert set(result.trace_sha256) == {
        "init_duration_ms.csv",
        "knative100_avg_concurrency.csv",
        "knative100_apps.csv",
    }


def test_the_fleet_waits_less_with_keep_alive(traces_dir: Path) -> None:
    whole = read_fleet(traces_dir)
    assert whole.trace.functions == 100
    rows = np.arange(5)
    few = replace(whole, trace=whole.trace.select(rows), calls=whole.calls[rows], lasting_s=whole.lasting_s[rows])
    kpa, kept = fleet_rows(few, ["ka-10"], ("constant", ConstantStart(0.808)), seed=1, told=lambda _: None)
    assert kpa["still waiting %"] == 100.0
    assert kpa["p50_ms"] == pytest.approx(808.0)
    assert isinstance(kept["still waiting %"], float)
    assert kept["still waiting %"] < 50.0
    assert kept["cold calls of kpa"] == kpa["cold calls of kpa"]
