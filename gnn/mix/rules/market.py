"""Plans that fit: memory gets dearer where a plan asks for more than there is, until the plan asks for less.

A rule that looks at each function alone plans more for a cheap cluster than fits, and then whoever comes last is pushed
out, at any price. With a surcharge on the memory of such a cluster those stay who gain most by it, which is what the
dual of the room's limit says; the surcharge is found anew each minute by a few steps of a subgradient method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gnn.mix.rules.theta import ThetaRule
from gnn.mix.state import State
from prewarm.domain import FloatArray, Int32Array

ROUNDS = 6
SLOWER = 0.8
"""A room that is asked for twice over adds the usual price of memory at the first step, at each later one so much of
what it would have added before.
"""

Plan = Callable[[State], Int32Array]


def in_room(state: State, plan: Plan, *, target: float) -> tuple[Int32Array, FloatArray]:
    """The plan (n, c) at the prices at which it takes `target` of each cluster's room or less, and the surcharges (c,),
    zero where the plan fits anyway. Of the plans on the way the one that asks least beyond the target, and among those
    that fit the one of the lowest surcharges.
    """
    surcharge = np.zeros(len(state.price))
    found: list[tuple[float, float, Int32Array, FloatArray]] = []
    for number in range(ROUNDS + 1):
        made = plan(replace(state, price=state.price + surcharge))
        over = (state.site.memory_gb @ made) / state.room_gb - target
        beyond = float((np.maximum(over, 0.0) * state.room_gb).sum())
        found.append((beyond, float(surcharge.sum()), made, surcharge))
        if not surcharge.any() and beyond == 0.0:
            break
        surcharge = np.maximum(0.0, surcharge + SLOWER**number * over)
    _, _, best, paid = min(found, key=lambda one: one[:2])
    return best, paid


@dataclass(frozen=True, slots=True)
class MarketRule(ThetaRule):
    """The fixed rule, whose plans are made to fit `target` of each cluster's room."""

    target: float = 0.9
    name: str = "theta rule in room, untuned"

    def decide(self, state: State) -> Int32Array:
        """The rule's plan at the prices that make it fit."""
        return in_room(state, partial(ThetaRule.decide, self), target=self.target)[0]
