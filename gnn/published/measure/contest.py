"""Who takes part in the comparison, what each did on each seed, and paired differences with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gnn.published.measure.convergence import convergence_s
from gnn.published.measure.run import Asked, Outcome, run_asked, run_rule
from gnn.published.rules.named import Rule, default_rule
from gnn.published.world.draw import STEP_AT_S, Regime, draw_world
from gnn.published.world.fleet import Fleet, pooled_fleet
from prewarm.domain import FloatArray

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Contender:
    """A rule, a policy that is asked pod by pod, or the default rule on another fleet."""

    name: str
    policy: Rule | Asked
    fleet: Fleet | None = None

    def run(self, regime: Regime, load: float, seed: int) -> Outcome:
        """One run from start to end."""
        world = draw_world(regime, load, seed, self.fleet)
        return run_rule(world, self.policy) if isinstance(self.policy, Rule) else run_asked(world, self.policy)

    def over(self, regime: Regime, load: float, seeds: Sequence[int], figure: Callable[[Outcome], float]) -> FloatArray:
        """One figure of each seed's run, (seeds,)."""
        return np.array([figure(self.run(regime, load, seed)) for seed in seeds])


def pooled() -> Contender:
    """One node with the room of all; where a pod goes is no question there."""
    return Contender("one pooled node", default_rule(), pooled_fleet())


def settles_after(contender: Contender, load: float, seed: int) -> float:
    """Seconds until P99 has settled after the step run's change, NaN where it does not."""
    return convergence_s(contender.run(Regime.STEP, load, seed).histogram, int(STEP_AT_S))


def paired(ours: FloatArray, theirs: FloatArray, seed: int = 0) -> tuple[float, float, float]:
    """Mean of ours - theirs over the same seeds, and the bounds of its 95 % bootstrap interval."""
    difference = np.asarray(ours - theirs, dtype=np.float64)
    rows = np.random.default_rng(seed).integers(0, len(difference), (RESAMPLES, len(difference)))
    low, high = np.quantile(difference[rows].mean(axis=1), [0.025, 0.975])
    return float(difference.mean()), float(low), float(high)
