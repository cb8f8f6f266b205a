"""Everybody on the same worlds of one size: figures by seed, the bound, and differences in pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gnn.sizes.admission import Admitting
from gnn.sizes.learning.answer import WEIGHTS_FILE, learned
from gnn.sizes.learning.teacher import Priced
from gnn.sizes.measure.bound import Clairvoyant, clairvoyant
from gnn.sizes.measure.tune import PRICE
from gnn.sizes.peers.sets import peer
from gnn.sizes.play import Optimal, Played, Policy, play
from gnn.sizes.rules.plain import plain_rules
from gnn.sizes.rules.weighted import LOOK_AHEAD, Settings, tuned, weighted
from gnn.sizes.rules.weighted import admitting as rule_admitting
from gnn.sizes.world import draw_world
from prewarm.domain import FloatArray, PrewarmError

RESAMPLES = 5_000
LEARNED, RULE, TEACHER = "learned policy", "tuned factor rule", "exact solver, priced holes, admission"
LOOKING = "look-ahead over the tree"


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """One policy on the worlds of one size; every array is (seeds,). most: the clairvoyant's requests."""

    name: str
    latency_ms: FloatArray
    optimum_ms: FloatArray
    accepted: FloatArray
    most: FloatArray
    p99_ms: float

    @property
    def ratio(self) -> float:
        """Mean latency over mean optimum of all accepted requests."""
        return float(self.latency_ms.sum() / self.optimum_ms.sum())

    @property
    def share(self) -> float:
        """Requests accepted, of the clairvoyant's."""
        return float(self.accepted.sum() / self.most.sum())

    @property
    def costs(self) -> FloatArray:
        """Of each seed: ratio above 1, and lost requests at the price that the rule was tuned with."""
        return self.latency_ms / self.optimum_ms - 1.0 + PRICE * (1.0 - self.accepted / self.most)


def contenders(seed: int) -> Sequence[Policy]:
    """Everybody but the learned policy, which is added where its weights are; `seed` is of the random rule."""
    settings = tuned()
    policies: list[Policy] = [
        *plain_rules(seed),
        peer("ppo"),
        peer("dqn"),
        weighted(Settings(dict(LOOK_AHEAD)), LOOKING),
        Optimal(),
        Admitting(Optimal(), "optimum of each request, admission"),
        Admitting(Priced(settings.holes, TEACHER), TEACHER, settings.spared),
        rule_admitting(settings, RULE),
    ]
    if WEIGHTS_FILE.exists():
        policies.append(learned(name=LEARNED))
    return policies


def compared(
    size: int, seeds: Sequence[int], policies: Sequence[Policy], told: Callable[[float], None]
) -> tuple[list[Figures], list[Clairvoyant]]:
    """All policies on the worlds of one size. Raises PrewarmError where one accepts more than a proven bound."""
    worlds = [draw_world(size, seed) for seed in seeds]
    bounds = [clairvoyant(world) for world in worlds]
    out = []
    for number, policy in enumerate(policies):
        told(number / len(policies))
        out.append(figures(policy.name, [play(world, policy) for world in worlds], bounds))
    return out, bounds


def figures(name: str, runs: Sequence[Played], bounds: Sequence[Clairvoyant]) -> Figures:
    """Figures of one policy's runs."""
    most = np.array([bound.accepted for bound in bounds], np.float64)
    accepted = np.array([run.accepted.sum() for run in runs], np.float64)
    proven = np.array([bound.proven for bound in bounds])
    if (accepted > most)[proven].any():
        raise PrewarmError(f"sizes: {name} accepts more requests than the bound")
    latency = np.array([np.nansum(run.latency_ms) for run in runs])
    optimum = np.array([np.nansum(run.optimum_ms) for run in runs])
    every = np.concatenate([run.latency_ms[run.accepted] for run in runs])
    return Figures(name, latency, optimum, accepted, most, float(np.quantile(every, 0.99)))


def paired(ours: FloatArray, theirs: FloatArray, rng: np.random.Generator) -> tuple[float, float, float]:
    """Mean of ours - theirs over the same seeds, and the ends of its 95 % bootstrap interval."""
    difference = ours - theirs
    draws = difference[rng.integers(0, len(difference), (RESAMPLES, len(difference)))].mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(difference.mean()), float(low), float(high)
