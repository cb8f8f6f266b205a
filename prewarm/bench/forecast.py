"""`prewarm bench forecast`: busy series up to a quarter of an hour ahead, beside seasonal-naive and statsforecast.

Protocol A3.5: five regions of Huawei's public cloud over 31 days; days 0-20 train, 21-24 validate, 25-30 test. The
shipped trees saw the training days only. Everyone may refit once a day on the last 1,440 to 10,080 points and rolls
forward with fixed parameters.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from prewarm.bench.forecast_ablation import ablation_rows
from prewarm.bench.forecast_ours import prepare, walk
from prewarm.bench.forecast_peers import entries, peer_answers
from prewarm.bench.forecast_protocol import (
    HORIZONS,
    Answers,
    Demand,
    Progress,
    coverages,
    error_ratios,
    error_row,
    naive,
    read_demand,
    region_rows,
)
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.forecast.dense.model import shipped_model

TARGETS = {1: 0.65, 5: 0.70, 15: 0.72}
COVERAGE = (0.93, 0.97)
LEAST_COVERAGE = 0.90
PROGRESS_SHARES = (0.2, 0.3, 0.3, 0.2)  # rows, walk, peers, ablation
QUICK_STRIDE = 15
DISTRIBUTIONS = ("prewarm-fleet", "numpy", "scipy", "lightgbm", "statsforecast")


def _silent(share: float, doing: str = "") -> None:
    del share, doing


def run(
    data_dir: Path, *, seed: int = 0, quick: bool = False, plot: Path | None = None, progress: Progress = _silent
) -> BenchResult:
    """The whole table; `quick` asks the peers every quarter of an hour only and leaves the ablation out.

    The seed only draws the ablation's trees: the shipped model is what it is. `plot` is not used.
    """
    del plot
    demand = read_demand(data_dir)
    model = shipped_model()
    prepared = prepare(demand, _part(progress, 0))
    ours = walk(model, prepared, _part(progress, 1))
    plain = walk(model, prepared, _part(progress, 1), correct=False)
    rows = [error_row(demand, naive(demand)), error_row(demand, ours)]
    rows += _peer_rows(demand, _part(progress, 2), stride=QUICK_STRIDE if quick else 1)
    rows += region_rows(demand, ours)
    if not quick:
        rows += ablation_rows(prepared, ours=ours, without_correction=plain, seed=seed, progress=_part(progress, 3))
    versions = {**installed_versions(DISTRIBUTIONS), "dense_model": model.version}
    return BenchResult("forecast", seed, demand.sha256, versions, rows, _goals(demand, ours))


def _part(progress: Progress, number: int) -> Progress:
    """Progress of one stretch of the whole."""
    before, share = sum(PROGRESS_SHARES[:number]), PROGRESS_SHARES[number]

    def show(done: float, doing: str = "") -> None:
        progress(before + share * done, doing)

    return show


def _peer_rows(demand: Demand, progress: Progress, *, stride: int) -> list[Row]:
    known = entries()
    rows: list[Row] = []
    for number, entry in enumerate(known):
        progress(number / len(known), entry.name)
        rows.append(error_row(demand, peer_answers(demand, entry, stride=stride)))
    return rows


def _goals(demand: Demand, ours: Answers) -> list[Goal]:
    ratios, shares = error_ratios(demand, ours), coverages(demand, ours)
    goals = [Goal.at_most(f"error_{h}min", TARGETS[h], float(ratios[h].mean())) for h in HORIZONS]
    means = np.array([shares[h].mean() for h in HORIZONS])
    worst_mean = float(means[np.argmax(np.abs(means - np.mean(COVERAGE)))])  # the horizon that is farthest off
    least = float(min(shares[h].min() for h in HORIZONS))
    inside = COVERAGE[0] <= worst_mean <= COVERAGE[1] and least >= LEAST_COVERAGE
    goals.append(Goal("coverage", 0.95, worst_mean, inside, "near"))
    return goals
