"""Published and recounted rows of the public traces, to the unit (benchmarks A2.2 and A3.7)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from prewarm.sim.minute import MinuteWorkload, Score, score
from prewarm.sim.policies import policy
from prewarm.sim.workloads import minute_workload
from prewarm.traces.detect import read_trace


@pytest.fixture(scope="module")
def hundred(traces_dir: Path) -> MinuteWorkload:
    folder = traces_dir / "femux-azure2019"
    trace = read_trace(folder / "knative100_avg_concurrency.csv", apps=folder / "knative100_apps.csv")
    return minute_workload(trace)


@pytest.fixture(scope="module")
def published(hundred: MinuteWorkload, traces_dir: Path) -> MinuteWorkload:
    with (traces_dir / "femux-azure2019" / "knative100_apps.csv").open(newline="") as lines:
        chosen = [row["in_femux_result"] in {"1", "True"} for row in csv.DictReader(lines)]
    return hundred.select(np.flatnonzero(chosen))


def scored(name: str, workload: MinuteWorkload) -> Score:
    return score(workload, policy(name).allocations(workload))


def test_knative_recounted(hundred: MinuteWorkload) -> None:
    assert scored("kpa", hundred).cold == 10_632


@pytest.mark.parametrize(
    ("name", "cold", "waste", "rum"),
    [
        pytest.param("ka-5", 2308, 623_547, 8120, id="ka-5"),
        pytest.param("ka-10", 1076, 689_117, 7782, id="ka-10"),
        pytest.param("ka-15", 572, 729_095, 7776, id="ka-15"),
    ],
)
def test_keep_alive_on_the_93_apps(published: MinuteWorkload, name: str, cold: int, waste: float, rum: float) -> None:
    found = scored(name, published)
    assert found.cold == cold
    assert found.waste_gb_s == pytest.approx(waste, abs=1)
    assert found.rum == pytest.approx(rum, abs=0.5)


def test_ka10_on_all_apps(hundred: MinuteWorkload) -> None:
    found = scored("ka-10", hundred)
    assert (found.cold, found.waste_vs_ka10) == (1117, 1.0)
    assert found.waste_gb_s == pytest.approx(694_269, abs=1)
    assert found.rum == pytest.approx(7867, abs=0.5)


@pytest.mark.parametrize(("apps", "rum"), [("published", 3152), ("hundred", 3157)])
def test_the_clairvoyant_bound(request: pytest.FixtureRequest, apps: str, rum: float) -> None:
    found = scored("clairvoyant", request.getfixturevalue(apps))
    assert found.cold == 0
    assert found.rum == pytest.approx(rum, rel=0.005)


@pytest.mark.parametrize(
    ("name", "cold", "waste"),
    [
        pytest.param("ka-10", 481, 1.00, id="ka-10"),
        pytest.param("ka-15", 280, 1.12, id="ka-15"),
        pytest.param("ka-60", 123, 1.50, id="ka-60"),
        pytest.param("never-unload", 100, 2.01, id="never-unload"),
    ],
)
def test_the_function_level_sample(traces_dir: Path, name: str, cold: int, waste: float) -> None:
    trace = read_trace(traces_dir / "azure2019-invitro" / "sample100_invocations.csv")
    found = scored(name, minute_workload(trace))
    assert found.cold == cold
    assert found.waste_vs_ka10 == pytest.approx(waste, abs=0.005)
    assert found.waste_gb_s is None


def test_the_hybrid_histogram_beats_ka10_on_both_axes(published: MinuteWorkload) -> None:
    hybrid, fixed = scored("hh-1h", published), scored("ka-10", published)
    assert hybrid.cold < fixed.cold
    assert hybrid.waste_gb_s is not None
    assert fixed.waste_gb_s is not None
    assert hybrid.waste_gb_s < fixed.waste_gb_s


def test_700_minutes_are_decided_as_in_the_whole_day(published: MinuteWorkload) -> None:
    for name in ("ka-10", "hh-1h", "faascache-8"):
        whole = policy(name).allocations(published)
        assert np.array_equal(policy(name).allocations(published.first(700)), whole[:, :700])
