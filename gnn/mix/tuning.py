"""Give each tunable rule the same budget of simulated minutes, on training worlds only.

Random draws from each rule's ranges first, then steps around the best so far, all on the same worlds, so that two
candidates differ by their settings and nothing else. Trials already made are handed in and not made again, so a search
that was stopped goes on, and several may share one list of trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnn.mix.replay import replay
from gnn.mix.rules.market import MarketRule
from gnn.mix.rules.plain import ByWeight
from gnn.mix.rules.scored import NetworkAware, TargetLoad
from gnn.mix.rules.theta import ThetaRule
from gnn.mix.state import Policy
from gnn.mix.world.draw import World
from prewarm.domain import Float32Array

EXPLORED = 0.4  # share of the trials drawn over the whole range
STEP = 0.15  # of a range, in a step around the best

Range = tuple[float, float]
Played = tuple[World, Float32Array]


@dataclass(frozen=True, slots=True)
class Space:
    """A rule with its published or natural settings, and the range of each setting that may be tuned; `whole` names
    those that are whole numbers.
    """

    start: Any
    ranges: Mapping[str, Range]
    whole: frozenset[str] = frozenset()

    def made(self, settings: Mapping[str, float]) -> Policy:
        """The rule with these settings."""
        typed = {key: int(value) if key in self.whole else float(value) for key, value in settings.items()}
        rule: Policy = replace(self.start, **typed)
        return rule


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings of one rule and the mean J over the worlds that it was tried on."""

    settings: dict[str, float]
    cost: float


SPACES: dict[str, Space] = {
    "theta rule": Space(
        ThetaRule(),
        {
            "theta": (0.7, 1.5),
            "stay": (0.0, 0.5),
            "cold": (0.5, 1.1),
            "room": (0.0, 0.25),
            "memory": (0, 1),
            "prior": (0.3, 3.0),
        },
        frozenset({"memory"}),
    ),
    "weighted by room": Space(ByWeight("room"), {"power": (0.0, 6.0), "stay": (0.0, 1.0)}),
    "target load packing": Space(TargetLoad(), {"target": (0.2, 0.95)}),
    "network aware": Space(NetworkAware(), {"nearer_ms": (0.0, 60.0), "memory": (0, 1)}, frozenset({"memory"})),
    "theta rule in room": Space(
        MarketRule(),
        {
            "theta": (0.9, 1.4),
            "stay": (0.0, 0.3),
            "cold": (0.6, 1.0),
            "room": (0.0, 0.2),
            "memory": (0, 1),
            "prior": (0.8, 3.0),
            "target": (0.75, 1.0),
        },
        frozenset({"memory"}),
    ),
}


def trials(
    space: Space, played: Sequence[Played], budget_min: int, rng: np.random.Generator, done: Sequence[Trial] = ()
) -> Iterator[Trial]:
    """Trials until the budget of simulated minutes is used, counting those in `done`; the first is the start's own."""
    day = sum(world.minutes for world, _ in played)
    known = list(done)
    for number in range(budget_min // day):
        settings = _settings(space, known[:number], number / (budget_min / day), rng)
        if number < len(done):
            continue  # the draw is made all the same, so that a resumed search goes on as the first would have
        trial = Trial(settings, mean_cost(space.made(settings), played))
        known.append(trial)
        yield trial


def mean_cost(policy: Policy, played: Sequence[Played], told: Callable[[float], None] | None = None) -> float:
    """Mean J over worlds."""
    costs = []
    for number, (world, called) in enumerate(played, 1):
        costs.append(replay(world, called, policy).total)
        if told is not None:
            told(number / len(played))
    return float(np.mean(costs))


def best_of(made: Sequence[Trial]) -> Trial:
    """The cheapest trial, the earlier one where two cost the same."""
    return min(made, key=lambda trial: trial.cost)


def _settings(space: Space, known: Sequence[Trial], spent: float, rng: np.random.Generator) -> dict[str, float]:
    draw = {key: rng.uniform(*span) for key, span in space.ranges.items()}
    step = {key: rng.normal(0.0, STEP * (span[1] - span[0])) for key, span in space.ranges.items()}
    if not known:
        return {key: float(min(getattr(space.start, key), span[1])) for key, span in space.ranges.items()}
    if spent >= EXPLORED:
        best = best_of(known).settings
        draw = {key: best[key] + step[key] for key in draw}
    return {key: _inside(draw[key], space.ranges[key], key in space.whole) for key in draw}


def _inside(value: float, span: Range, whole: bool) -> float:
    inside = min(max(value, span[0]), span[1])
    return float(round(inside)) if whole else inside
