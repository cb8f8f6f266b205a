"""`prewarm bench sizes`: service graphs over 4 to 128 clusters against the exact optimum of each request (W8).

Simulated. The ratio is a policy's mean latency over the mean optimum of the same requests, each optimum given the room
that the policy itself had left; acceptance is beside the clairvoyant's, and the table says how that is proven. `cost`
is ratio - 1 plus ten times the share of requests lost, what the rule was tuned by; its interval is over seeds in pairs
with the best of the others at that size, the solvers left out: they are the references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from gnn.sizes.measure.bound import Clairvoyant
from gnn.sizes.measure.contest import LEARNED, Figures, compared, contenders, paired
from gnn.sizes.world import EVALUATION_SEEDS, SIZES
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions

QUICK_SIZES, QUICK_SEEDS = (4, 32, 128), 2
MOST_RATIO, LEAST_SHARE = 1.10, 0.995
_SOLVES = ("optimum of", "exact solver")


def run(
    data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Callable[[float, str], None]
) -> BenchResult:
    """All sizes and ten seeds; `quick` takes three sizes and two seeds."""
    del data_dir, plot
    sizes = QUICK_SIZES if quick else SIZES
    seeds = EVALUATION_SEEDS[:QUICK_SEEDS] if quick else EVALUATION_SEEDS
    rows: list[Row] = []
    ours: dict[int, Figures | None] = {}
    for number, size in enumerate(sizes):

        def told(share: float, number: int = number, size: int = size) -> None:
            progress((number + share) / len(sizes), f"{size} clusters")

        found, bounds = compared(size, seeds, contenders(seed), told)
        rows += rows_of(size, found, bounds, seed)
        ours[size] = next((one for one in found if one.name == LEARNED), None)
    versions = installed_versions(("prewarm-fleet", "numba", "numpy", "scipy"))
    return BenchResult("sizes", seed, {}, versions, rows, goals_of(ours))


def best_baseline(found: Sequence[Figures]) -> Figures:
    """The cheapest of the others, solvers left out."""
    others = [one for one in found if one.name != LEARNED and not one.name.startswith(_SOLVES)]
    return min(others, key=lambda one: float(one.costs.mean()))


def rows_of(size: int, found: Sequence[Figures], bounds: Sequence[Clairvoyant], seed: int) -> list[Row]:
    """A row a policy, worst first as the contest lists them, and the bound's."""
    best = best_baseline(found)
    rows = [_row(size, one, best, seed) for one in found]
    how = ", ".join(f"{many} by {name}" for name, many in sorted(Counter(one.how for one in bounds).items()))
    empty: Row = dict.fromkeys(rows[0])
    most = float(np.mean([bound.accepted for bound in bounds]))
    return [*rows, empty | {"clusters": size, "policy": f"clairvoyant ({how})", "accepted": most, "of most %": 100.0}]


def _row(size: int, one: Figures, best: Figures, seed: int) -> Row:
    difference, low, high = paired(one.costs, best.costs, np.random.default_rng(seed))
    return {
        "clusters": size,
        "policy": one.name + (" (best baseline)" if one is best else ""),
        "latency ms": float(one.latency_ms.sum() / one.accepted.sum()),
        "P99 ms": one.p99_ms,
        "optimum ms": float(one.optimum_ms.sum() / one.accepted.sum()),
        "ratio": one.ratio,
        "accepted": float(one.accepted.mean()),
        "of most %": 100.0 * one.share,
        "cost": float(one.costs.mean()),
        "cost - best baseline": "-" if one is best else f"{difference:+.3f} ({low:+.3f}..{high:+.3f})",
    }


def goals_of(ours: Mapping[int, Figures | None]) -> list[Goal]:
    """The learned policy's ratio and acceptance at each size; None, and so missed, without one."""
    goals = []
    for size, one in ours.items():
        goals.append(Goal.at_most(f"ratio_{size}", MOST_RATIO, None if one is None else one.ratio))
        goals.append(Goal.at_least(f"accepted_{size}", LEAST_SHARE, None if one is None else one.share))
    return goals
