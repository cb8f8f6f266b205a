"""`prewarm bench pools` (W9): what planning all warm pools costs, and whether it is exact and steady.

Two sizes, each planned twice: from nothing, and from the plan in place after the change. Beside ours stand the split by
largest remainders over the clusters' capacity that agent-sandbox's fleet proposal describes (each pool by itself, no
memory of the last plan), and a greedy planner that takes the pools one by one, the largest first. Both are given the
same columns. For the smaller size the value of the plan from nothing is set against the linear program over all pools,
which no plan can beat. Seconds are medians; memory is simulated, and nothing is published to any cluster, which the
anchor's 2.5 s for 3,000 pools on 6 clusters include. Whole ticks of a fleet, with values, pools by region and limits,
are shown beside, without a goal.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron

from federation.bench.pools_tick import fleet_tick_row
from federation.bench.pools_world import PoolWorld, make_world
from federation.pools.plan import plan_pools
from federation.pools.question import PoolDemand
from federation.pools.targets import round_exactly, ties
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import FloatArray, IntArray, PrewarmError

SIZES = ((3_000, 6), (10_000, 100))
LIMITS_S = {(3_000, 6): 0.5, (10_000, 100): 2.5}
TICK_SIZES = ((50_000, 3), (3_000, 100))
SEEDS, REPEATS = 3, 3
Planner = Callable[[PoolWorld, PoolDemand, IntArray | None], IntArray]


def ours(world: PoolWorld, pools: PoolDemand, before: IntArray | None) -> IntArray:
    """The planner of the service."""
    return plan_pools(pools, world.clusters, preference=world.preference, previous=before).plan.astype(np.int64)


def by_capacity(world: PoolWorld, pools: PoolDemand, before: IntArray | None) -> IntArray:
    """Each pool by itself over the clusters in proportion to their room, by largest remainders; no memory."""
    del before
    room = world.clusters.room
    even: FloatArray = np.broadcast_to(room / room.sum(), (len(pools), len(room)))
    return round_exactly(pools.wanted, even, ties(pools.seed, world.clusters.seed))


def greedy(world: PoolWorld, pools: PoolDemand, before: IntArray | None) -> IntArray:
    """Pools one by one, the largest first, each to the clusters that it likes best while they have room; no memory."""
    del before
    room, plan = world.clusters.room.copy(), np.zeros(world.value.shape, dtype=np.int64)
    liked = np.argsort(-world.value, axis=1, kind="stable")
    for row in np.argsort(-pools.wanted * pools.size, kind="stable"):
        left, size = int(pools.wanted[row]), int(pools.size[row])
        for column in liked[row]:
            if left == 0:
                break
            got = min(left, int(room[column]) // size)
            plan[row, column], left = got, left - got
            room[column] -= got * size
    return plan


PLANNERS: dict[str, Planner] = {"split by capacity": by_capacity, "greedy": greedy, "prewarm": ours}


def run(
    data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Callable[..., None]
) -> BenchResult:
    """Both sizes; `quick` runs one seed and leaves out the linear program."""
    del data_dir, plot
    rows: list[Row] = []
    seconds: dict[tuple[int, int], float] = {}
    exact, moves = [], []
    seeds = [seed] if quick else [seed + offset for offset in range(SEEDS)]
    for size in SIZES:
        worlds = [make_world(*size, each) for each in seeds]
        for name, planner in PLANNERS.items():
            progress(len(rows) / (len(SIZES) * len(PLANNERS)), f"{size[0]:,} x {size[1]}, {name}")
            measured = [_measure(world, planner) for world in worlds]
            rows.append(_row(size, name, measured))
            if planner is ours:
                seconds[size] = max(float(one["seconds"]) for one in measured)
                exact += [float(one["exact"]) for one in measured]
                moves += [float(one["moves"]) / max(1.0, float(one["change"])) for one in measured]
    progress(1.0, "whole ticks of a fleet")
    rows += [fleet_tick_row(*size, seed) for size in TICK_SIZES]
    if not quick:
        progress(1.0, "linear program")
        rows.append(_against_bound(make_world(*SIZES[0], seed)))
    goals = [Goal.at_most(f"seconds_{n}x{c}", LIMITS_S[n, c], seconds[n, c]) for n, c in SIZES]
    goals.append(Goal.at_least("exact", 1.0, min(exact)))
    goals.append(Goal.at_most("moves", 1.0, max(moves)))
    return BenchResult("pools", seed, {}, installed_versions(("prewarm-fleet", "numpy", "scipy")), rows, goals)


def _measure(world: PoolWorld, planner: Planner) -> dict[str, float]:
    """One planner on one world: seconds from nothing and from the plan in place, and what came out of the latter."""
    cold_s, plan_s, plan = [], [], world.in_place
    repeats = 1 if planner is greedy else REPEATS
    for _ in range(repeats):
        cold_s.append(_timed(lambda: planner(world, world.then, None))[0])
        took, plan = _timed(lambda: planner(world, world.now, world.in_place))
        plan_s.append(took)
    held, room = world.now.size @ plan, world.clusters.room
    return {
        "seconds": statistics.median(plan_s),
        "cold": statistics.median(cold_s),
        "exact": float((plan.sum(axis=1) == world.now.wanted).mean()) * bool((held <= room).all()),
        "right": float((plan.sum(axis=1) == world.now.wanted).mean()),
        "over": float((held > room).sum()),
        "moves": float(np.abs(plan - world.in_place).sum()),
        "change": float(np.abs(world.now.wanted - world.then.wanted).sum()),
    }


def _timed(work: Callable[[], IntArray]) -> tuple[float, IntArray]:
    started = time.perf_counter()
    answer = work()
    return time.perf_counter() - started, answer


def _row(size: tuple[int, int], name: str, measured: list[dict[str, float]]) -> Row:
    def mean(key: str) -> float:
        return statistics.fmean(one[key] for one in measured)

    return {
        "pools": size[0],
        "clusters": size[1],
        "planner": name,
        "plan s": statistics.median(one["seconds"] for one in measured),
        "from nothing s": statistics.median(one["cold"] for one in measured),
        "us per pool": 1e6 * mean("seconds") / size[0],
        "totals right": mean("right"),
        "clusters over room": mean("over"),
        "moves": mean("moves"),
        "change in demand": mean("change"),
    }


def _against_bound(world: PoolWorld) -> Row:
    """Mean value of an instance, from nothing: the baselines, ours, and the best that a fractional plan can do."""
    total = int(world.then.wanted.sum())
    row: Row = {"mean value of an instance": "from nothing, 3,000 x 6"}
    for name, planner in PLANNERS.items():
        row[name] = float((planner(world, world.then, None) * world.value).sum()) / total
    bound = value_bound(world) / total
    return row | {"bound": bound, "% of bound": 100 * float(str(row["prewarm"])) / bound}


def value_bound(world: PoolWorld) -> float:
    """Largest total value of a plan that may split instances: a transport problem over (pool, cluster)."""
    n, c = world.value.shape
    totals = csr_array(kron(eye_array(n), np.ones((1, c))))
    rooms = csr_array(kron(world.then.size[None, :], eye_array(c)))
    limits = {"A_ub": rooms, "b_ub": world.clusters.room, "A_eq": totals, "b_eq": world.then.wanted}
    answer = linprog(-world.value.ravel(), **limits)  # type: ignore[call-overload]  # the stubs know no sparse matrix
    if not answer.success:
        raise PrewarmError(f"pools: the linear program ended with {answer.message!r}")
    return -float(answer.fun)
