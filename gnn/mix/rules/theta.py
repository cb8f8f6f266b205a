"""The fixed rule: a pool is opened where the delay it saves is worth theta times what holding it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.mix.rules.factors import COLD, DELAY, FACTORS, HOLDING, ROOM, WARM, factor_array
from gnn.mix.rules.weighted import decide_weighted
from gnn.mix.state import State
from prewarm.domain import Int32Array


@dataclass(frozen=True, slots=True)
class ThetaRule:
    """theta: how many times its holding cost a pool must save; stay: how much less (in holdings) one that is warm must;
    cold: scale of a cold start's price; room: holdings that a wholly free cluster is worth; memory: which half-life
    of the callers seen; prior: calls' worth of belief in the nodes' shares.
    """

    theta: float = 1.0
    stay: float = 0.0
    cold: float = 1.0
    room: float = 0.0
    memory: int = 1
    prior: float = 1.5
    name: str = "theta rule"

    def decide(self, state: State) -> Int32Array:
        """The same weights for every function."""
        mix = state.mix(self.memory, self.prior)
        weights = np.zeros(len(FACTORS))
        weights[[DELAY, HOLDING, COLD, WARM, ROOM]] = 1.0, self.theta, self.cold * self.theta, self.stay, self.room
        size = len(state.called)
        every = np.broadcast_to(weights, (size, len(FACTORS)))
        return decide_weighted(state, factor_array(state, mix), every, np.ones(size), mix=mix)
