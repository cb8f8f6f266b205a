"""The stated load: the offered load at which the default scheduler's rule fails 3.2 % of its pods, by bisection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnn.published.measure.run import run_rule
from gnn.published.rules.named import Rule
from gnn.published.world.draw import Regime, draw_world
from gnn.published.world.fleet import Fleet

STATED_RATE, TOLERANCE = 0.032, 0.003
_CLOSE = 0.0005
_LOW, _HIGH, _STEPS = 0.5, 1.2, 12


@dataclass(frozen=True, slots=True)
class StatedLoad:
    """The load, what the rule fails there, and the cores that it has allocated on average over all cores."""

    load: float
    rate: float
    utilisation: float

    @property
    def found(self) -> bool:
        """Whether the rate is within the tolerance."""
        return abs(self.rate - STATED_RATE) <= TOLERANCE


def failures(rule: Rule, load: float, seeds: Sequence[int], fleet: Fleet | None = None) -> list[tuple[float, float]]:
    """(failure rate, utilisation) of each seed's four hours."""
    outcomes = [run_rule(draw_world(Regime.FAILURES, load, seed, fleet), rule) for seed in seeds]
    return [(one.failure_rate, one.utilisation) for one in outcomes]


def stated_load(rule: Rule, seeds: Sequence[int]) -> StatedLoad:
    """Bisection of the load until the mean rate is within 0.05 points of 3.2 %, or twelve steps are done."""
    low, high = _LOW, _HIGH
    best = StatedLoad(low, 0.0, 0.0)
    for _ in range(_STEPS):
        load = (low + high) / 2.0
        rate, utilisation = np.mean(failures(rule, load, seeds), axis=0)
        if abs(rate - STATED_RATE) < abs(best.rate - STATED_RATE):
            best = StatedLoad(load, float(rate), float(utilisation))
        if abs(rate - STATED_RATE) < _CLOSE:
            break
        low, high = (load, high) if rate < STATED_RATE else (low, load)
    return best
