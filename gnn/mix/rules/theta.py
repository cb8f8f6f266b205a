"""The fixed rule: a pool is opened where the delay it saves is worth theta times what holding it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.mix.rules.factors import COLD, DELAY, FACTORS, HOLDING, ROOM, WARM, delay_price, free_share
from gnn.mix.rules.weighted import open_pools
from gnn.mix.state import State
from prewarm.domain import FloatArray, Int32Array


@dataclass(frozen=True, slots=True)
class ThetaRule:
    """theta: how many times its holding cost a pool must save; stay: how much less (in holdings at price 1) one that is
    warm must; cold: scale of a cold start's price; room: holdings that a wholly free cluster is worth; memory: which
    half-life of the callers seen; prior: calls' worth of belief in the nodes' shares.
    """

    theta: float = 1.0
    stay: float = 0.0
    cold: float = 1.0
    room: float = 0.0
    memory: int = 1
    prior: float = 1.5
    name: str = "theta rule, untuned"

    def weights(self) -> FloatArray:
        """The rule as weights over `FACTORS`, (F,); `decide_weighted` with them decides the same."""
        weights = np.zeros(len(FACTORS))
        weights[[DELAY, HOLDING, COLD, WARM, ROOM]] = 1.0, self.theta, self.theta * self.cold, self.stay, self.room
        return weights

    def decide(self, state: State) -> Int32Array:
        """The same weights for every function."""
        hold = state.site.hold[:, None]
        fixed = hold * (self.stay * (state.warm > 0) - self.theta * state.price + self.room * free_share(state))
        every = np.ones(len(hold))
        return open_pools(
            state, fixed, delay_price(state), (every / self.cold, every), mix=state.mix(self.memory, self.prior)
        )
