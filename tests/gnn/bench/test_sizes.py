"""The benchmark's own arithmetic from made figures, and the whole of it on one small size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnn.bench import sizes as bench
from gnn.sizes.measure.bound import Clairvoyant
from gnn.sizes.measure.contest import LEARNED, RULE, Figures, figures, paired
from gnn.sizes.play import Played
from prewarm.domain import PrewarmError


def made(name: str, latency: float, accepted: float, most: float = 100.0) -> Figures:
    return Figures(name, np.full(2, latency), np.full(2, 1000.0), np.full(2, accepted), np.full(2, most), 300.0)


def run_of(latency: list[float], optimum: list[float]) -> Played:
    told = np.array(latency)
    return Played(np.isfinite(told), told, np.array(optimum))


def test_figures_are_means_over_all_accepted_requests() -> None:
    nan = np.nan
    runs = [run_of([10.0, nan, 30.0], [10.0, nan, 20.0]), run_of([60.0, 60.0, 60.0], [50.0, 50.0, 60.0])]
    found = figures("some", runs, [Clairvoyant(2, "packing"), Clairvoyant(3, "packing")])
    assert found.ratio == pytest.approx(220 / 190)
    assert found.share == 1.0
    assert found.costs == pytest.approx([40 / 30 - 1, 180 / 160 - 1])


def test_who_accepts_more_than_a_proven_bound_stops_the_bench() -> None:
    runs = [run_of([10.0, 10.0], [10.0, 10.0])]
    with pytest.raises(PrewarmError, match="cheat accepts more requests than the bound"):
        figures("cheat", runs, [Clairvoyant(1, "program")])
    assert figures("lucky", runs, [Clairvoyant(1, "random orders")]).share == 2.0


def test_a_lost_request_in_a_hundred_costs_as_much_as_a_tenth_of_latency() -> None:
    assert made("a", 1100.0, 100.0).costs == pytest.approx(made("b", 1000.0, 99.0).costs)


def test_the_best_baseline_is_neither_ours_nor_a_solver() -> None:
    found = [
        made("nearest", 1500.0, 99.0),
        made(RULE, 1050.0, 99.0),
        made("optimum of each request", 1000.0, 99.0),
        made("exact solver, priced holes, admission", 1000.0, 100.0),
        made(LEARNED, 1000.0, 99.5),
    ]
    assert bench.best_baseline(found).name == RULE
    rows = bench.rows_of(8, found, [Clairvoyant(100, "packing")] * 2, 0)
    assert [row["cost - best baseline"] for row in rows[:2]] == ["+0.450 (+0.450..+0.450)", "-"]
    assert rows[-1]["policy"] == "clairvoyant (2 by packing)"
    assert rows[1]["ratio"] == pytest.approx(1.05)


def test_differences_are_taken_seed_by_seed() -> None:
    theirs = np.array([0.1, 0.9, 0.5])
    assert paired(theirs - 0.1, theirs, np.random.default_rng(0)) == pytest.approx((-0.1, -0.1, -0.1))


def test_goals_are_at_every_size_and_missed_without_a_policy() -> None:
    goals = bench.goals_of({4: made(LEARNED, 1090.0, 99.6), 128: made(LEARNED, 1110.0, 99.4), 8: None})
    assert [(goal.name, goal.met) for goal in goals] == [
        ("ratio_4", True),
        ("accepted_4", True),
        ("ratio_128", False),
        ("accepted_128", False),
        ("ratio_8", False),
        ("accepted_8", False),
    ]


@pytest.mark.slow
def test_the_bench_runs_and_the_rule_is_better_than_what_has_no_look_ahead(tmp_path: Path) -> None:
    result = bench.run(tmp_path, seed=0, quick=True, progress=lambda *_: None)
    cost = {(row["clusters"], str(row["policy"]).removesuffix(" (best baseline)")): row["cost"] for row in result.rows}
    for size in bench.QUICK_SIZES:
        rule, greedy = cost[size, RULE], cost[size, "cheapest link"]
        assert isinstance(rule, float)
        assert isinstance(greedy, float)
        assert rule < greedy
