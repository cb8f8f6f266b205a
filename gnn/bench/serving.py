"""`prewarm bench serving`: what a decision costs with the learned scorer on, beside the same decision with it off.

The large fleet of `placement-scale` (100 clusters of 5,000 nodes, one summary new before each decision), in process, on
one thread. Each workload is decided twice, by two placers that see the same snapshots, in turns first and second, so
that both meet the same machine. Without shipped weights the network's weights are drawn: the time is the same. A third
row sends the question to a worker process and back, which is what inference outside the service would cost at least.
Where others use the machine, answers are late that would not be; so one side takes the processor's time for lateness.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from federation.bench.large_fleet import LargeFleet, large_fleet
from federation.bench.openb import NODES, PODS
from federation.bench.placement_scale import APART_S, START, WARM_UP
from federation.desk.learned import Allowed
from federation.placement.placer import Placer
from federation.placement.scorer import Declined, Question, Scorer, Weighing
from federation.placement.terms import Terms
from gnn.bench.drawn import drawn_shape, drawn_weights
from gnn.fleet.question import question_observation
from gnn.graph.build import GraphBuilder
from gnn.guard.asked import row
from gnn.guard.detector import Detector, read_detector
from gnn.guard.fit import Fit, Stream, fit
from gnn.guard.guarded import Guarded
from gnn.guard.trial import STEPS, Standing
from gnn.observation import Observation
from gnn.scorer import LearnedScorer, read_scorer, shipped
from gnn.student import Student
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions
from prewarm.domain import FloatArray
from prewarm.settings import PlacementPolicy

DECISIONS, QUICK_DECISIONS = 2_000, 300
SENT = 100
P99_GOAL_MS = 10.0
_SPACE = "bench"
_LOOKED, _RUNS = 4, 30
_FORBIDDEN = ("torch", "torch_geometric", "gymnasium", "numba", "pandas", "statsmodels")

Progress = Callable[..., None]


@dataclass(slots=True)
class Side:
    """One of the two: a placer with its scorer, and the ms of each of its decisions, by the clock and the processor."""

    placer: Placer
    scorer: Scorer | None
    ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    learned: int = 0

    def decide(self, world: LargeFleet, number: int, now: float, *, counted: bool) -> None:
        """One decision of the world's present snapshot."""
        workload = world.workload(number)
        terms = Terms(scorer=self.scorer)
        begin, cpu = time.perf_counter(), time.thread_time()
        self.placer.see(world.snapshot)
        placement = self.placer.place(workload, terms=terms, now=now)
        if counted:
            self.ms.append(1e3 * (time.perf_counter() - begin))
            self.cpu_ms.append(1e3 * (time.thread_time() - cpu))
            self.learned += not placement.policy.rule_decided


def run(data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Progress) -> BenchResult:
    """Both sides, the worker, and what importing the scorer loads."""
    del plot
    trained = shipped().exists()
    detector = _detector(data_dir, seed, progress)
    guards = [guarded(_scorer(seed, clock), detector) for clock in (time.perf_counter, time.thread_time)]
    sides = measure(data_dir, guards, seed=seed, decisions=QUICK_DECISIONS if quick else DECISIONS, progress=progress)
    progress(0.9, "a worker process")
    sent, loaded = in_a_worker(data_dir, seed), imports()
    off, on, alone = sides
    names = (
        "scorer off",
        f"scorer on, {'shipped' if trained else 'drawn'} weights",
        "the same, late by processor time",
    )
    rows: list[Row] = [_row(name, side) for name, side in zip(names, sides, strict=True)]
    rows += [{"decision": "added by the scorer", **_added(off, alone)}]
    rows += [
        {"decision": f"rule decided: {why}", "decisions": many} for why, many in guards[0].tally.declined.most_common()
    ]
    rows += [
        {
            "decision": "a question to a worker and back",
            "p50 ms": _percentile(sent, 50),
            "p99 ms": _percentile(sent, 99),
        },
        {"decision": "importing the scorer loads", "learned": ", ".join(loaded) or "none of " + ", ".join(_FORBIDDEN)},
    ]
    goals = [
        Goal.at_most("p99_ms", P99_GOAL_MS, _percentile(on.ms, 99)),
        Goal.at_most("torch_free", 0.0, float(len(loaded))),
    ]
    sums = {path.name: hashlib.sha256((data_dir / path).read_bytes()).hexdigest() for path in (NODES, PODS)}
    return BenchResult("serving", seed, sums, installed_versions(("prewarm-fleet", "numpy")), rows, goals)


def guarded(scorer: LearnedScorer, detector: Detector) -> Guarded:
    """The scorer under its guard, with all of the bench's workloads in its share."""
    guard = Guarded(scorer, detector, PlacementPolicy, allowed=Allowed("promote"))
    guard.book.standings[_SPACE] = Standing(len(STEPS) - 1)
    return guard


def _detector(data_dir: Path, seed: int, progress: Progress) -> Detector:
    path = shipped("guard-fleet.npz")
    return read_detector(path) if path.exists() else usual(data_dir, seed, progress)


def usual(data_dir: Path, seed: int, progress: Progress, runs: int = _RUNS) -> Detector:
    """A detector of such fleets, each seen a few times: as large as a shipped one, and made in a few seconds."""
    streams, builder = [], GraphBuilder(candidates=False)
    asked = questions(large_fleet(data_dir, np.random.default_rng([seed, 1]), now=START))
    for number in range(runs):
        progress(0.1 * number / runs, "what is usual here")
        rows = [row(question_observation(next(asked), builder)) for _ in range(_LOOKED)]
        streams.append(Stream(np.arange(_LOOKED, dtype=np.float64), np.array(rows), np.zeros((_LOOKED, 1))))
    return fit(streams, np.random.default_rng(seed), Fit(rate=0.05, floor=0.5))


def questions(world: LargeFleet) -> Iterator[Question]:
    """What the pipeline asks about one workload after another that any cluster may take."""
    ear, placer, number = _Ear(), Placer(world.snapshot), 0
    while True:
        number += 1
        placer.see(world.change(START + APART_S * number))
        ear.heard.clear()
        while not ear.heard:
            placer.ask(world.workload(number), terms=Terms(scorer=ear), now=world.snapshot.at)
        yield ear.heard[0]


def measure(
    data_dir: Path, guards: Sequence[Guarded], *, seed: int, decisions: int, progress: Progress
) -> tuple[Side, ...]:
    """Decide each workload without a scorer and with each of these, in turns."""
    worlds = [large_fleet(data_dir, np.random.default_rng(seed), now=START) for _ in range(1 + len(guards))]
    sides = tuple(Side(Placer(one.snapshot), guard) for one, guard in zip(worlds, (None, *guards), strict=True))
    for world, guard in zip(worlds[1:], guards, strict=True):
        guard.scorer.warm(world.snapshot)
    now = START
    for number in range(-WARM_UP, decisions):
        now += APART_S
        for world in worlds:
            world.change(now)
        for turn in range(len(sides)):
            which = (number + turn) % len(sides)
            sides[which].decide(worlds[which], number, now, counted=number >= 0)
        if number % 50 == 0:
            progress(0.1 + 0.8 * max(number, 0) / decisions, f"{number:,} decisions")
    return sides


def in_a_worker(data_dir: Path, seed: int) -> list[float]:
    """ms from sending an observation to a worker process that answers it to having the action."""
    world = large_fleet(data_dir, np.random.default_rng([seed, 2]), now=START)
    seen = question_observation(next(questions(world)), GraphBuilder())
    out = []
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_prepare, initargs=(seed,)) as pool:
        for _ in range(10):
            pool.submit(_answer, seen).result()
        for _ in range(SENT):
            begin = time.perf_counter()
            pool.submit(_answer, seen).result()
            out.append(1e3 * (time.perf_counter() - begin))
    return out


def imports() -> list[str]:
    """Which of the modules that a service must not load come with the scorer and its guard."""
    program = (
        "import sys, gnn.scorer, gnn.guard.serving; "
        f"print(*[one for one in {_FORBIDDEN!r} if one in sys.modules], sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


class _Ear:
    """A scorer that listens only."""

    def __init__(self) -> None:
        self.heard: list[Question] = []

    def weigh(self, question: Question) -> Weighing | Declined:
        self.heard.append(question)
        return Declined("only looking")


_STUDENT: list[Student] = []


def _prepare(seed: int) -> None:
    shape = drawn_shape()
    _STUDENT[:] = [Student(shape, drawn_weights(shape, np.random.default_rng(seed)))]


def _answer(seen: Observation) -> FloatArray:
    action: FloatArray = _STUDENT[0].act(seen).astype(np.float64)
    return action


def _scorer(seed: int, clock: Callable[[], float]) -> LearnedScorer:
    """The shipped one, or one with drawn weights."""
    path = shipped()
    if path.exists():
        return read_scorer(path, clock)
    shape = drawn_shape()
    return LearnedScorer(Student(shape, drawn_weights(shape, np.random.default_rng(seed))), "drawn", clock)


def _added(off: Side, on: Side) -> dict[str, float]:
    """Differences of the percentiles of the same decisions."""
    return {f"cpu p{at} ms": _percentile(on.cpu_ms, at) - _percentile(off.cpu_ms, at) for at in (50, 99)}


def _row(name: str, side: Side) -> Row:
    told = {f"p{at} ms": _percentile(side.ms, at) for at in (50, 99)}
    cpu = {f"cpu p{at} ms": _percentile(side.cpu_ms, at) for at in (50, 99)}
    return {"decision": name, **told, **cpu, "decisions": len(side.ms), "learned": side.learned}


def _percentile(values: list[float], at: float) -> float:
    return float(np.percentile(values, at))
