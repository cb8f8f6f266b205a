"""`prewarm bench coldstart`: the public hundred applications by the minute protocol (benchmarks A3.1, A3.2, A4).

Baselines are reproduced first, then the shipped model decides through the service's own control, at the plain price of
a cold start and over a sweep of it. Nothing is fitted here: the five further models are trained on the exemplars that
do not resemble this set. Counts are charged as published, a cold container a full minute, which is harsher than the
published 30-60 s.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from prewarm.bench.coldstart_parts import ablation_rows
from prewarm.bench.coldstart_plot import draw_pareto
from prewarm.bench.coldstart_points import CHOICES, Point, best_on_both, last_under, sweep, sweep_row
from prewarm.bench.coldstart_set import PublishedSet, read_set
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.forecast.experts.opinions import shipped_model
from prewarm.forecast.levels.blend import BlendedLevels
from prewarm.forecast.levels.boosted import LevelModel
from prewarm.forecast.levels.train import train_levels
from prewarm.sim.chances import ChanceModel
from prewarm.sim.minute import MinuteWorkload, Score, score
from prewarm.sim.ours import Extras, asked_of
from prewarm.sim.ours import run as decide_day
from prewarm.sim.policies import policy

KEEP_ALIVES = ("ka-1", "ka-5", "ka-10", "ka-15", "ka-60")
CACHES = ("faascache-4", "faascache-6", "faascache-8", "faascache-10")  # GB; KA-10 holds 8.1 on average
BASELINES = (*KEEP_ALIVES, "hh-1h", "hh-4h", *CACHES, "clairvoyant")
KNATIVE_WASTE = 371_588.0  # GB s, published for the 93 applications
BOTH = (820.0, 400_000.0)  # cold starts, GB s
FIRST_MINUTES = 700
TURNS = 3
SEEDS = 5

Progress = Callable[..., None]


def run(
    data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Progress | None = None
) -> BenchResult:
    """Everything that A3.2 asks for; `quick` leaves out the five trainings and the ablations."""
    told = progress or _silent
    published = read_set(data_dir)
    set_a = published.workload.select(published.covered)
    told(0.02, "baselines")
    rows = [_baseline_row(name, set_a) for name in BASELINES] + published.rows()
    told(0.15, "the shipped model, sweep")
    points = sweep(set_a, shipped_model())
    rows += [sweep_row("prewarm", point) for point in points]
    told(0.3, "turned days")
    turned = [turned_ratio(set_a, shipped_model(), seed + turn) for turn in range(TURNS)]
    rows += [{"turned by": f"seed {seed + at}", "RUM / KA-10's": ratio} for at, ratio in enumerate(turned)]
    told(0.4, "first minutes again")
    differing = look_ahead(set_a, shipped_model())
    if not quick:
        rows += _seed_rows(data_dir, set_a, seed, told)
        told(0.85, "ablations")
        rows += ablation_rows(set_a, shipped_model())
    if plot is not None:
        draw_pareto(plot, points, rows)
    goals = [*_own_goals(points), Goal.at_most("turned_ratio", 0.605, median(turned)), *_recounts(published)]
    goals.insert(5, Goal.at_most("look_ahead", 0, differing))
    versions = installed_versions(["prewarm-fleet", "numpy", "numba", "lightgbm"])
    return BenchResult("coldstart", seed, published.sha256, versions, rows, goals)


def turned_ratio(set_a: MinuteWorkload, model: ChanceModel, seed: int) -> float:
    """RUM over KA-10's with every application's day turned (circularly) by an offset of its own."""
    offsets = np.random.default_rng(seed).integers(0, set_a.minutes, len(set_a.keys))
    turned = set_a.turned(offsets)
    ours = decide_day(turned, asked_of(turned, model, Extras()), Extras())[0]
    reference = policy("ka-10").allocations(turned)
    return _rum(score(turned, ours)) / _rum(score(turned, reference))


def look_ahead(set_a: MinuteWorkload, model: ChanceModel) -> int:
    """Decisions for the first 700 minutes that differ when only those minutes are replayed."""
    first = set_a.first(FIRST_MINUTES)
    whole = decide_day(set_a, asked_of(set_a, model, Extras()), Extras())[0]
    alone = decide_day(first, asked_of(first, model, Extras()), Extras())[0]
    return int((whole[:, :FIRST_MINUTES] != alone).sum())


def _seed_rows(data_dir: Path, set_a: MinuteWorkload, seed: int, told: Progress) -> list[Row]:
    """Trees trained anew five times by the training command's own body, beside the shipped network; median, range."""
    rows: list[Row] = []
    for at in range(SEEDS):
        told(0.45 + 0.08 * at, f"training {at + 1} of {SEEDS}")
        with tempfile.TemporaryDirectory() as folder:
            card = train_levels(data_dir, seed + at, Path(folder))
            network = shipped_model().network
            points = sweep(set_a, BlendedLevels(LevelModel.load(Path(folder)), network, shipped_model().share))
        plain = _plain(points)
        both = best_on_both(points, BOTH)
        memory = last_under(points, KNATIVE_WASTE)
        rows.append(
            {
                "model": f"seed {seed + at}",
                "RUM": plain.rum,
                "cold": plain.cold,
                "waste GB s": plain.waste_gb_s,
                "cold at Knative's memory": memory.cold if memory else None,
                "nearest to both: cold": both.cold,
                "nearest to both: GB s": both.waste_gb_s,
                "training s": card["wall_s"],
            }
        )
    for name, take in (("median", median), ("lowest", min), ("highest", max)):
        rows.append({"model": name, **{key: _taken(rows[:SEEDS], key, take) for key in list(rows[0])[1:]}})
    return rows


def _taken(rows: Sequence[Row], key: str, take: Callable[[list[float]], float]) -> float | None:
    values = [float(str(row[key])) for row in rows if row[key] is not None]
    return take(values) if values else None


def _own_goals(points: Sequence[Point]) -> list[Goal]:
    both = best_on_both(points, BOTH)
    memory = last_under(points, KNATIVE_WASTE)
    return [
        Goal.at_most("rum_93", 4650.0, _plain(points).rum),
        Goal.at_most("cold_both_axes", BOTH[0], both.cold),
        Goal.at_most("waste_both_axes", BOTH[1], both.waste_gb_s),
        Goal.at_most("cold_at_knative_memory", 1500.0, memory.cold if memory else None),
    ]


def _recounts(published: PublishedSet) -> list[Goal]:
    everyone = published.workload
    covered = everyone.select(published.covered)
    knative = score(everyone, policy("kpa").allocations(everyone)).cold
    ka10 = score(everyone, policy("ka-10").allocations(everyone)).cold
    clairvoyant = score(covered, policy("clairvoyant").allocations(covered)).rum
    return [
        Goal.near("knative_recount", 10_632, knative, 0.001),
        Goal.near("ka10_recount", 1117, ka10, 0.0),
        Goal.near("clairvoyant_recount", 3152, clairvoyant, 0.005),
    ]


def _baseline_row(name: str, set_a: MinuteWorkload) -> Row:
    return score_row(name, score(set_a, policy(name).allocations(set_a)))


def score_row(name: str, result: Score) -> Row:
    """A policy's row of the first table."""
    return {
        "policy": name,
        "cold": result.cold,
        "cold %": None if result.cold_rate is None else round(100 * result.cold_rate, 2),
        "P50": result.cold_rate_p50,
        "P75": result.cold_rate_p75,
        "P90": result.cold_rate_p90,
        "always cold": result.always_cold,
        "waste GB s": result.waste_gb_s,
        "waste / KA-10": result.waste_vs_ka10,
        "RUM": result.rum,
    }


def _plain(points: Sequence[Point]) -> Point:
    return points[CHOICES.index(1.0)]


def _rum(result: Score) -> float:
    return float("nan") if result.rum is None else result.rum


def _silent(share: float, what: str) -> None:
    """Progress told to nobody."""
