"""`prewarm bench placement-scale`: what one decision costs over a hundred clusters of 5,000 nodes each.

In process and on one thread: a new snapshot in which one cluster's summary changed goes in, a placement with all its
reasons comes out, and its room is held, so that later decisions run against thousands of claims. Making the snapshot
and the question is not counted. Members are simulated: Karmada's published P50/P99 of 12/32 ms is against real API
servers and not comparable.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from federation.bench.large_fleet import CLUSTERS, NODES_EACH, WORKLOADS, LargeFleet, large_fleet
from federation.bench.openb import NODES, PODS, typical_mix
from federation.bench.placement_http import OFFERED_S, QUICK_OFFERED_S, measure_http
from federation.nodes.fragment import Unfragmented
from federation.placement.answer import Placement
from federation.placement.packing.changes import Changes
from federation.placement.placer import Placer
from federation.placement.terms import Terms
from prewarm.bench.memory import resident_gib
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import FloatArray

QUICK_WORKLOADS = 1_000
WARM_UP = 50
"""Decisions that are taken before the measured ones."""
APART_S = 0.005
"""Between two decisions, on the fleet's clock: two hundred a second, so claims of 90 s pile up."""
START = 1_790_000_000.0

Progress = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Measured:
    """ms: (n,) of each decision by the clock, cpu_ms: (n,) by the processor; the rest says what was decided.

    Where the two differ much, others were using the machine.
    """

    ms: FloatArray
    cpu_ms: FloatArray
    unplaced: int
    split: int
    passed: float
    claims: int
    gib: float

    def row(self) -> Row:
        """As the table shows it."""
        return {
            "decisions": len(self.ms),
            "p50 ms": float(np.percentile(self.ms, 50)),
            "p90 ms": float(np.percentile(self.ms, 90)),
            "p99 ms": float(np.percentile(self.ms, 99)),
            "worst ms": float(self.ms.max()),
            "cpu p50 ms": float(np.percentile(self.cpu_ms, 50)),
            "cpu p99 ms": float(np.percentile(self.cpu_ms, 99)),
            "per s": self.per_s,
            "clusters passed": self.passed,
            "split": self.split,
            "unplaced": self.unplaced,
            "claims held": self.claims,
            "GiB": self.gib,
        }

    @property
    def per_s(self) -> float:
        """Decisions a second, one after another."""
        return 1000.0 / float(self.ms.mean())


def run(data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Progress) -> BenchResult:
    """All decisions; `quick` takes a fifth of them."""
    del plot
    progress(0.0, f"{CLUSTERS} clusters of {NODES_EACH:,} nodes")
    world = large_fleet(data_dir, np.random.default_rng(seed), now=START)
    decisions = QUICK_WORKLOADS if quick else WORKLOADS
    measured = measure(world, decisions, progress)
    progress(0.95, "through the API")
    saturated, *offered = measure_http(data_dir, seed, decisions, QUICK_OFFERED_S if quick else OFFERED_S)
    goals = [
        Goal.at_most("p50_ms", 3.0, float(np.percentile(measured.ms, 50))),
        Goal.at_most("p99_ms", 10.0, float(np.percentile(measured.ms, 99))),
        Goal.at_least("per_s", 200.0, measured.per_s),
        Goal.at_least("http_per_s", 100.0, saturated.per_s),
        Goal.at_most(f"http_p99_ms_at_{offered[0].rate:g}_per_s", 20.0, offered[0].p99_ms),
        Goal.at_most("http_p99_ms", 20.0, saturated.p99_ms),
    ]
    sums = {path.name: hashlib.sha256((data_dir / path).read_bytes()).hexdigest() for path in (NODES, PODS)}
    return BenchResult(
        "placement-scale",
        seed,
        sums,
        installed_versions(("prewarm-fleet", "numpy")),
        [measured.row(), *(one.row() for one in (saturated, *offered))],
        goals,
    )


def measure(world: LargeFleet, decisions: int, progress: Progress) -> Measured:
    """Take so many decisions, each on a snapshot that has changed."""
    terms = Terms(fragmentation=Changes(Unfragmented(typical_mix(world.pods))))
    placer, now = Placer(world.snapshot), START
    ms, cpu_ms, made = np.zeros(decisions), np.zeros(decisions), []
    for number in range(-WARM_UP, decisions):
        now += APART_S
        snapshot, workload = world.change(now), world.workload(number)
        begin, cpu = time.perf_counter(), time.thread_time()
        placer.see(snapshot)
        placement = placer.place(workload, terms=terms, now=now)
        if number >= 0:
            ms[number], cpu_ms[number] = 1e3 * (time.perf_counter() - begin), 1e3 * (time.thread_time() - cpu)
            made.append(_seen(placement))
        if number % 100 == 0:
            progress(0.9 * max(number, 0) / decisions, f"{number:,} decisions")
    unplaced, split, passed = np.array(made).sum(axis=0).tolist()
    claims = sum(len(claims) for claims in placer.book.claims.values())
    return Measured(ms, cpu_ms, int(unplaced), int(split), passed / decisions, claims, resident_gib())


def _seen(placement: Placement) -> tuple[int, int, int]:
    """Whether instances were left over, whether it was divided, and clusters that passed."""
    return int(placement.unplaced > 0), int(len(placement.shares) > 1), len(placement.scores)
