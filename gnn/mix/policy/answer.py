"""What the policy is relative to, and how its actions become a plan: its weights, with what is asked for made to fit.

Action zero is the tuned rule whose plans fit the room. Factors that this rule gives nothing get a little, so that a
multiple of it can be more; it is so little that the rule's plans stay what they were but for a few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.forms import Rule, weights_of
from gnn.mix.rules.factors import CALLER, HOLDING, POOLING, TIDE, factor_array
from gnn.mix.rules.market import MarketRule, in_room
from gnn.mix.rules.table import tuned_market
from gnn.mix.rules.weighted import decide_weighted
from gnn.mix.state import State
from prewarm.domain import Float32Array, FloatArray, Int32Array, IntArray

LITTLE = 0.02
"""Weight of the factors that the rule has not."""
LOG_HOTTEST = 1.0
"""At +1 the temperature is e times 1, at -1 1 / e."""


@dataclass(frozen=True, slots=True)
class Base:
    """The rule of action zero: its weights over `FACTORS`, and how it reads the callers and the room."""

    market: MarketRule

    @property
    def rule(self) -> Rule:
        """Temperature 1 divides instances beyond one a pool as the calls fall."""
        weights = self.market.weights()
        weights[[CALLER, TIDE, POOLING]] = LITTLE
        return Rule(tuple(weights.tolist()), 1.0)

    def mix(self, state: State) -> FloatArray:
        """Expected callers' shares (n, c)."""
        return state.mix(self.market.memory, self.market.prior)


def tuned_base() -> Base:
    """With the settings that tuning found."""
    return Base(tuned_market())


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """A minute before the answer: the state, the callers' shares (n, c) and the factors (n, c, F) at today's prices."""

    state: State
    mix: FloatArray
    factors: FloatArray


def look(base: Base, state: State) -> Look:
    """All that both observation and plan need."""
    mix = base.mix(state)
    return Look(state, mix, factor_array(state, mix))


def plan(base: Base, seen: Look, asked: IntArray, action: Float32Array) -> Int32Array:
    """Instances (n, c): `action` (k, F + 1) about the functions `asked` (k,), the rule for all others."""
    every = np.zeros((len(seen.mix), action.shape[1]))
    every[asked] = action
    weights, temperature = weights_of(every, np.array(base.rule.weights)), temperatures(every)
    factors, hold = seen.factors.copy(), seen.state.site.hold[:, None]

    def at_prices(state: State) -> Int32Array:
        factors[:, :, HOLDING] = -hold * state.price
        return decide_weighted(state, factors, weights, temperature, mix=seen.mix)

    return in_room(seen.state, at_prices, target=base.market.target)[0]


def temperatures(action: FloatArray) -> FloatArray:
    """(n,) around the rule's 1."""
    factor: FloatArray = np.exp(LOG_HOTTEST * action[:, -1])
    return factor
