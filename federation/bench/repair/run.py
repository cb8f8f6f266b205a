"""`prewarm bench repair`: exact repair of pending pods (benchmarks W10).

200 instances of our own; solved is a plan of at most five moves, carried out again move by move, or a proof that there
is none. A plan that over-commits stops the benchmark. Times are of the processor, one core, so that a busy machine does
not decide; the published 44 % and 73 % (CP-SAT, at 1 s and 10 s) are of other instances.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from federation.bench.repair.instances import NODES, PODS, draw_instance, read_nodes, read_pods
from federation.repair import Verdict, repair, replay
from prewarm.bench.result import BenchResult, Goal, Row, installed_versions

INSTANCES, QUICK_INSTANCES = 200, 40
SHORT_S, LONG_S = 1.0, 10.0
SOLVED = (Verdict.PLAN, Verdict.NONE)


@dataclass(frozen=True, slots=True)
class Trial:
    """One instance's end: the verdict within the long limit, moves, seconds, and the load."""

    verdict: Verdict
    moves: int
    seconds: float
    load: float


def run(
    data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Callable[..., None]
) -> BenchResult:
    """All instances; `quick` takes the first 40 and the short limit alone."""
    del plot
    nodes, pods = read_nodes(data_dir), read_pods(data_dir)
    count, limit = (QUICK_INSTANCES, SHORT_S) if quick else (INSTANCES, LONG_S)
    trials = []
    for at in range(count):
        progress(at / count, f"instance {at + 1} of {count}")
        instance = draw_instance(nodes, pods, seed + at)
        start = time.process_time()
        found = repair(instance.board, instance.pending, deadline=start + limit, clock=time.process_time)
        seconds = time.process_time() - start
        if found.verdict is Verdict.PLAN:
            replay(instance.board, instance.pending, found)
        trials.append(Trial(found.verdict, len(found.moves), seconds, instance.load))
    goals = [Goal.at_least("solved_1s", 0.5, solved_within(trials, SHORT_S))]
    if not quick:
        goals.append(Goal.at_least("solved_10s", 0.75, solved_within(trials, LONG_S)))
    sums = {path.name: hashlib.sha256((data_dir / path).read_bytes()).hexdigest() for path in (NODES, PODS)}
    return BenchResult("repair", seed, sums, installed_versions(["prewarm-fleet", "numpy"]), rows_of(trials), goals)


def solved_within(trials: list[Trial], limit_s: float) -> float:
    """Share of instances with a plan or a proof in time."""
    return sum(trial.verdict in SOLVED and trial.seconds <= limit_s for trial in trials) / len(trials)


def rows_of(trials: list[Trial]) -> list[Row]:
    """Counts by verdict and moves, with the median and the longest time."""
    kinds = Counter((trial.verdict, trial.moves) for trial in trials)
    rows: list[Row] = []
    for (verdict, moves), count in sorted(kinds.items()):
        times = sorted(trial.seconds for trial in trials if (trial.verdict, trial.moves) == (verdict, moves))
        rows.append(
            {
                "verdict": str(verdict),
                "moves": moves,
                "instances": count,
                "share": round(count / len(trials), 3),
                "median s": round(times[len(times) // 2], 3),
                "longest s": round(times[-1], 3),
            }
        )
    return rows
