"""What is good: weighted goals, and the price of breaking a limit, found by dual ascent rather than by taste.

R = w1 utilisation + w2 (1 - delay) + w3 fairness - price x violations. Transitions keep goals and violations apart, and
the price of the moment joins them when they are learned from, so what was seen under an old price is not wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from prewarm.domain import FloatArray


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a decision led to, each in 0..1: utilisation, delay over the most that is acceptable, fairness."""

    utilisation: float
    delay: float
    fairness: float


@dataclass(frozen=True, slots=True)
class Goals:
    """The weights of the goals."""

    utilisation: float = 1.0
    delay: float = 1.0
    fairness: float = 0.25


def reward(outcome: Outcome, goals: Goals) -> float:
    """The reward without violations."""
    return (
        goals.utilisation * outcome.utilisation
        + goals.delay * (1.0 - outcome.delay)
        + goals.fairness * outcome.fairness
    )


def fairness(loads: FloatArray) -> float:
    """Jain's index of the loads, 1 where all are equal, 1/n where one has all; 1 for none or no load."""
    square = float((loads**2).sum()) * len(loads)
    return float(loads.sum()) ** 2 / square if square > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Price:
    """The Lagrange multiplier of the violation rate, moved by dual ascent (Boyd & Vandenberghe, section 5.5; the update
    of Tessler et al., ICLR'19, eq. 9). It settles where the rate is at its limit, or at 0 where the limit is slack.
    """

    limit: float
    """Violations that are accepted, as a rate like those that `moved` is told."""
    multiplier: float = 0.0
    step: float = 0.05
    most: float = 100.0

    def moved(self, rate: float) -> Price:
        """After a rate was seen: dearer above the limit, cheaper below. An unknown rate moves nothing."""
        if not math.isfinite(rate):
            return self
        wanted = self.multiplier + self.step * (rate - self.limit)
        return replace(self, multiplier=min(max(wanted, 0.0), self.most))
