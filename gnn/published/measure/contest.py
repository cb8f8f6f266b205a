"""Who takes part in the comparison, what each did on each seed, and paired differences with bootstrap intervals.

Runs are read by `Readings`, which keeps what it has read where the contender says what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from gnn.published.measure.convergence import convergence_s
from gnn.published.measure.kept import Kept, seal, sources
from gnn.published.measure.run import Asked, Outcome, run_asked, run_rule
from gnn.published.rules.named import Rule, default_rule
from gnn.published.world.draw import STEP_AT_S, Regime, draw_world
from gnn.published.world.fleet import Fleet, pooled_fleet
from prewarm.domain import FloatArray

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Fresh:
    """A policy that remembers its run, so that each has its own."""

    begin: Callable[[], Asked]


@dataclass(frozen=True, slots=True)
class Contender:
    """A rule, a policy that is asked pod by pod, or the default rule on another fleet. made_of: seal of all that
    decides what a policy answers; with none its readings are not kept.
    """

    name: str
    policy: Rule | Asked | Fresh
    fleet: Fleet | None = None
    made_of: str = ""

    def run(self, regime: Regime, load: float, seed: int) -> Outcome:
        """One run from start to end."""
        world = draw_world(regime, load, seed, self.fleet)
        if isinstance(self.policy, Rule):
            return run_rule(world, self.policy)
        return run_asked(world, self.policy.begin() if isinstance(self.policy, Fresh) else self.policy)

    @property
    def sealed(self) -> str:
        """What it is made of, a rule of its table; empty where that is unknown."""
        if not isinstance(self.policy, Rule):
            return self.made_of
        told = np.array([self.policy.target_load, self.policy.whole_gangs])
        fleet = () if self.fleet is None else (self.fleet.cpu, self.fleet.memory_gb, self.fleet.cluster)
        return seal((), *(one.tobytes() for one in (self.policy.table, told, *fleet)))


@dataclass(frozen=True, slots=True)
class Reading:
    """The figures of one run. p99_ms: NaN without calls; settles_s: NaN where it does not, or nothing changed."""

    failure_rate: float
    gangs: float
    gangs_failed: float
    utilisation: float
    p99_ms: float
    settles_s: float


@dataclass(frozen=True, slots=True)
class Readings:
    """Runs, read once: what is kept of an earlier one is the same."""

    kept: Kept

    def of(self, who: Contender, regime: Regime, load: float, seed: int) -> Reading:
        """One run's."""
        key = f"{simulator()}:{who.sealed}:{regime}:{load!r}:{seed}" if who.sealed else ""
        found = self.kept.of(key, lambda: asdict(read(who, regime, load, seed)))
        return Reading(**{name: float(value or 0.0) for name, value in found.items()})

    def over(
        self, who: Contender, regime: Regime, load: float, seeds: Sequence[int], figure: Callable[[Reading], float]
    ) -> FloatArray:
        """One figure of each seed's run, (seeds,)."""
        return np.array([figure(self.of(who, regime, load, seed)) for seed in seeds])


def read(who: Contender, regime: Regime, load: float, seed: int) -> Reading:
    """A run made for it."""
    run = who.run(regime, load, seed)
    settles_s = convergence_s(run.histogram, int(STEP_AT_S)) if regime is Regime.STEP else float("nan")
    return Reading(run.failure_rate, run.gangs, run.gangs_failed, run.utilisation, run.p99_ms, settles_s)


@cache
def simulator() -> str:
    """Seal of the code that makes a run of a world under a rule."""
    here = Path(__file__).parent
    modules = [here / f"{name}.py" for name in ("build", "run", "observe", "convergence", "contest")]
    return seal(sources(here.parent / "kernel", here.parent / "world", here.parent / "rules", *modules))


def pooled() -> Contender:
    """One node with the room of all; where a pod goes is no question there."""
    return Contender("one pooled node", default_rule(), pooled_fleet())


def paired(ours: FloatArray, theirs: FloatArray, seed: int = 0) -> tuple[float, float, float]:
    """Mean of ours - theirs over the same seeds, and the bounds of its 95 % bootstrap interval."""
    difference = np.asarray(ours - theirs, dtype=np.float64)
    rows = np.random.default_rng(seed).integers(0, len(difference), (RESAMPLES, len(difference)))
    low, high = np.quantile(difference[rows].mean(axis=1), [0.025, 0.975])
    return float(difference.mean()), float(low), float(high)
