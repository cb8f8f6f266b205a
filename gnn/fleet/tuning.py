"""The best fixed weighting of the factors in the service's own world: drawn first, then steps around the best.

A fixed weighting has as many simulated decisions to be tuned with as a policy has to learn from. Only training episodes
are played.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from federation.placement.scorer import FACTORS, Weighing
from gnn.fleet.draw import Episode
from gnn.fleet.outcome import Judged
from gnn.fleet.play import Play
from gnn.forms import Rule
from prewarm.settings import FactorWeights

EXPLORED = 0.4
STEP = 0.15
"""Standard deviation of a step around the best, of a range."""
HOTTEST = 0.3
FIXED = {name: float(getattr(FactorWeights(), name)) for name in ("fragmentation", "future_fill", "warm")}
"""Not tuned, since nothing in this world makes them worth anything: no mix is forecast, and starts cost nothing."""
RANGES = {
    "fit": (0.0, 4.0),
    "network": (0.0, 12.0),
    "price": (0.0, 12.0),
    "headroom": (0.0, 4.0),
    "steadiness": (1.0, 4.0),
    "risk": (0.5, 2.0),
}
"""In the unit of the settings. Steadiness and risk keep what a service needs that asks again every few seconds and may
lose a cluster, which no episode shows.
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule and its mean score a question."""

    rule: Rule
    score: float


def weighing(rule: Rule) -> Weighing:
    """The rule as an answer to any question."""
    return Weighing(np.array(rule.weights), rule.temperature, "rule", "tuned")


def played(episode: Episode, rule: Rule) -> list[Judged]:
    """What comes of an episode by a fixed rule."""
    play, answer = Play(episode), weighing(rule)
    while (asked := play.ask()) is not None:
        play.decide(asked, answer)
    return play.judged


def score(episodes: Sequence[Episode], rule: Rule) -> float:
    """Mean score a question over episodes."""
    return float(np.mean([one.score for episode in episodes for one in played(episode, rule)]))


def trials(episodes: Sequence[Episode], start: Rule, number: int, rng: np.random.Generator) -> Iterator[Trial]:
    """So many rules on the same episodes; the first is the start's own."""
    best = Trial(start, score(episodes, start))
    yield best
    for turn in range(1, number):
        rule = _drawn(rng) if turn < EXPLORED * number else _near(best.rule, rng)
        trial = Trial(rule, score(episodes, rule))
        best = max(best, trial, key=lambda one: one.score)
        yield trial


def _drawn(rng: np.random.Generator) -> Rule:
    weights = {name: rng.uniform(*span) for name, span in RANGES.items()}
    return rule_of(weights, HOTTEST * rng.random() * (rng.random() < 0.3))


def _near(rule: Rule, rng: np.random.Generator) -> Rule:
    total = FIXED["future_fill"] / rule.weights[FACTORS.index("future_fill")]  # weights are kept as shares
    weights = {}
    for name, (low, high) in RANGES.items():
        step = STEP * (high - low) * rng.standard_normal() * (rng.random() < 0.5)
        weights[name] = float(np.clip(rule.weights[FACTORS.index(name)] * total + step, low, high))
    heat = float(np.clip(rule.temperature + 0.05 * rng.standard_normal() * (rng.random() < 0.2), 0.0, HOTTEST))
    return rule_of(weights, heat)


def rule_of(weights: Mapping[str, float], temperature: float = 0.0) -> Rule:
    """Weights in the unit of the settings, as shares in the order of the factors; those not named are `FIXED`."""
    named = np.array([{**FIXED, **weights}[name] for name in FACTORS])
    return Rule(tuple(round(float(one), 5) for one in named / named.sum()), round(temperature, 3))
