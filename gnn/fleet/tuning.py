"""The best fixed weighting of the factors in the service's own world: drawn first, then steps around the best.

A fixed weighting has as many simulated decisions to be tuned with as a policy has to learn from. Only training episodes
are played.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from federation.placement.scorer import FACTORS, Weighing
from gnn.fleet.draw import Episode
from gnn.fleet.outcome import Judged
from gnn.fleet.play import Play
from gnn.forms import Rule
from prewarm.domain import FloatArray

EXPLORED = 0.4
STEP = 0.5
"""Standard deviation of the logarithm of a weight, in a step around the best."""
HOTTEST = 0.3


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
    weights = rng.exponential(1.0, len(FACTORS)) * (rng.random(len(FACTORS)) < 0.7)
    return _rule(weights, HOTTEST * rng.random() * (rng.random() < 0.3))


def _near(rule: Rule, rng: np.random.Generator) -> Rule:
    steps = np.exp(STEP * rng.standard_normal(len(FACTORS)))
    weights = (np.array(rule.weights) + 0.003 * (rng.random(len(FACTORS)) < 0.3)) * steps
    heat = float(np.clip(rule.temperature + 0.05 * rng.standard_normal() * (rng.random() < 0.3), 0.0, HOTTEST))
    return _rule(weights, heat)


def _rule(weights: FloatArray, temperature: float) -> Rule:
    total = float(weights.sum())
    named = weights / total if total > 0 else np.full(len(FACTORS), 1.0 / len(FACTORS))
    return Rule(tuple(round(float(one), 4) for one in named), round(temperature, 3))
