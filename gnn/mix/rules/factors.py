"""What a pool in a cluster is worth to a function, taken apart into named factors in J a minute.

All factors have one unit, so a weight of one means "at its price", weights can be read, and a policy that learns them
starts as a rule with fixed weights. `delay` depends on which pools are open already, so the plan computes it as it
goes; its column here is what a first pool there would cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.mix.state import DELAY_PRICE_PER_S, State
from prewarm.domain import COLD_COST, FloatArray


@dataclass(frozen=True, slots=True)
class Factor:
    """A column of the factor array: its name, what it measures, and which values are usual."""

    name: str
    meaning: str
    usual: str


FACTORS = (
    Factor("delay", "expected calls x price of delay x mean one-way delay, or its fall by one more pool", "0 to 10"),
    Factor("holding", "an instance kept for the minute at the cluster's price, as a cost", "-0.2 to -0.05"),
    Factor("cold", "P(called) x price of a cold start: what the first pool saves", "0 to 0.808"),
    Factor("warm", "an instance is warm there: keeping it for a minute at price 1", "0 to 0.2"),
    Factor("room", "share of the cluster's memory that is free x an instance's holding", "0 to 0.2"),
    Factor("caller", "share of the calling function's instances there x its share of expected delay", "0 to 1"),
    Factor("tide", "expected delay price x 100 ms x rise of the cluster's share of calls, new against old", "-1 to 1"),
    Factor("pooling", "chance that one more instance of the function idles x its holding, as a cost", "-0.2 to 0"),
)
DELAY, HOLDING, COLD, WARM, ROOM, CALLER, TIDE, POOLING = range(len(FACTORS))
_TIDE_S = 0.1


def factor_array(state: State, mix: FloatArray) -> FloatArray:
    """(n, c, F) for the expected callers' shares `mix` (n, c), columns as in `FACTORS`."""
    site, warm = state.site, state.warm
    hold = site.hold[:, None]
    pressing = delay_price(state)
    out = np.zeros((*warm.shape, len(FACTORS)))
    out[:, :, DELAY] = -pressing[:, None] * (mix @ site.delay_s)
    out[:, :, HOLDING] = -hold * state.price
    out[:, :, COLD] = (state.called * COLD_COST)[:, None]
    out[:, :, WARM] = hold * (warm > 0)
    out[:, :, ROOM] = hold * free_share(state)
    out[:, :, CALLER] = _beside_caller(state) * (pressing * _TIDE_S)[:, None]
    rise = state.mix(0) - state.mix(1)
    out[:, :, TIDE] = rise * (pressing * _TIDE_S)[:, None]
    out[:, :, POOLING] = -hold * (1.0 - state.p_at_least(2))[:, None]
    return out


def delay_price(state: State) -> FloatArray:
    """J a minute for each second of delay that a function's calls are expected to have, (n,)."""
    price: FloatArray = DELAY_PRICE_PER_S * state.called * state.calls
    return price


def free_share(state: State) -> FloatArray:
    """Memory not taken by warm instances over the room, (c,), at least 0."""
    taken = state.site.memory_gb @ state.warm
    share: FloatArray = np.maximum(0.0, 1.0 - taken / state.room_gb)
    return share


def _beside_caller(state: State) -> FloatArray:
    """Where the calling function is warm, as shares, (n, c); zero without a caller."""
    caller = state.site.caller
    beside = np.where((caller >= 0)[:, None], state.warm[np.maximum(caller, 0)], 0).astype(np.float64)
    shares: FloatArray = beside / np.maximum(beside.sum(axis=1, keepdims=True), 1.0)
    return shares
