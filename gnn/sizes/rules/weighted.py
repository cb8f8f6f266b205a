"""Weighted named factors: the rule that a policy's action is relative to.

Its settings were found on training seeds by `gnn.sizes.measure.tune`.
With weights on `near` and `below` only it is the look-ahead over the tree without a price of holes, a row of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import orjson

from gnn.forms import Rule
from gnn.sizes.admission import Admitting
from gnn.sizes.play import OneByOne, Policy, Question
from gnn.sizes.rules.factors import FACTORS, factors
from gnn.sizes.rules.holes import Holes

NO_HOLES = Holes((), 1.0)
TUNED_FILE = Path(__file__).with_name("tuned.json")
LOOK_AHEAD = {"near": 1.0, "below": 1.0}


@dataclass(frozen=True, slots=True)
class Settings:
    """weights: of the named factors, those left out weigh nothing. spared: units a cluster that admission takes off the
    free room, since so much ends in holes.
    """

    weights: dict[str, float] = field(default_factory=lambda: dict(LOOK_AHEAD))
    holes: Holes = NO_HOLES
    spared: float = 0.0

    @property
    def rule(self) -> Rule:
        """As the learner reads it."""
        return Rule(tuple(self.weights.get(name, 0.0) for name in FACTORS))


def weighted(settings: Settings, name: str) -> Policy:
    """The rule; all that fits is accepted."""
    weights = np.array(settings.rule.weights)

    def choose(question: Question) -> int:
        return int(question.candidates[np.argmax(factors(question, settings.holes) @ weights)])

    return OneByOne(name, choose)


def admitting(settings: Settings, name: str) -> Policy:
    """The rule behind admission."""
    return Admitting(weighted(settings, name), name, settings.spared)


@cache
def tuned() -> Settings:
    """What the search found."""
    told = orjson.loads(TUNED_FILE.read_bytes())
    return Settings(told["weights"], Holes(tuple(told["cost_ms"]), told["power"]), told["spared"])
