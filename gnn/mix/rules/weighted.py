"""From weights over the factors to a plan: which pools a function gets, and how many instances stand in each.

A first pool is opened where it is worth most, further ones while one more is worth more than nothing, each counting
only the delay that the pools before it left. Instances beyond one a pool are divided by the calls that each pool
would serve. With the weights of a rule this is the rule; a learned policy moves the same weights.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.mix.rules.factors import COLD, DELAY, HOLDING, delay_price
from gnn.mix.state import State
from prewarm.domain import COLD_COST, FloatArray, Int32Array

Array = Any

compiled = numba.njit(cache=True)


def decide_weighted(
    state: State, factors: FloatArray, weights: FloatArray, temperature: FloatArray, *, mix: FloatArray
) -> Int32Array:
    """Instances (n, c) for factors (n, c, F), weights (n, F) and temperature (n,) of each function.

    temperature: 1 divides the instances beyond one a pool as the calls fall, towards 0 all go to the busiest pool,
    large values divide evenly. The weight of `cold` scales the price of a cold start in how many are kept warm.
    """
    fixed = np.einsum("ncf,nf->nc", factors, weights) - factors[:, :, DELAY] * weights[:, DELAY, None]
    fixed -= factors[:, :, COLD] * weights[:, COLD, None]
    pressing = delay_price(state) * weights[:, DELAY]
    best = np.argmax(fixed - pressing[:, None] * (mix @ state.site.delay_s), axis=1)
    price = state.price[best]
    count = _worth(state, price * weights[:, HOLDING], weights[:, COLD])
    plan = np.zeros(state.warm.shape, np.int32)
    spread = 1.0 / np.maximum(temperature, 1e-3)
    _open_pools(fixed, (pressing, mix, state.site.delay_s), (best, count, spread), plan)
    return plan


def _worth(state: State, price: FloatArray, cold: FloatArray) -> Int32Array:
    """Levels whose chance pays for holding at `price` (n,) with the price of a start scaled by `cold`, (n,)."""
    hold = state.site.hold * np.maximum(price, 0.0)
    limit = hold / np.maximum(hold + COLD_COST * np.maximum(cold, 0.0), 1e-12)
    pays = state.called[:, None] * state.tail > limit[:, None]
    return pays.sum(axis=1).astype(np.int32)


@compiled  # type: ignore[untyped-decorator]
def _open_pools(fixed: Array, far: Array, wanted: Array, plan: Array) -> None:
    """Fill plan (n, c). far: price of delay (n,), mix (n, c), delay (c, c); wanted: first pool, count, spread (n,)."""
    pressing, mix, delay = far
    best, count, spread = wanted
    rows, clusters = fixed.shape
    nearest = np.empty(clusters)
    pool_of = np.empty(clusters, np.int64)
    for i in range(rows):
        if count[i] == 0:
            continue
        nearest[:] = delay[:, best[i]]
        pool_of[:] = best[i]
        plan[i, best[i]] = 1
        pools = 1
        while pools < clusters:
            at, most = -1, 0.0
            for c in range(clusters):
                if plan[i, c] == 0:
                    gain = fixed[i, c]
                    for r in range(clusters):
                        gain += pressing[i] * mix[i, r] * max(0.0, nearest[r] - delay[r, c])
                    if gain > most:
                        at, most = c, gain
            if at < 0:
                break
            plan[i, at] = 1
            pools += 1
            for r in range(clusters):
                if delay[r, at] < nearest[r]:
                    nearest[r] = delay[r, at]
                    pool_of[r] = at
        if count[i] > pools:
            divide(count[i] - pools, mix[i], pool_of, spread[i], plan[i])


@compiled  # type: ignore[untyped-decorator]
def divide(more: int, mix: Array, pool_of: Array, spread: float, line: Array) -> None:
    """Give `more` instances to the open pools by the calls each serves, to the largest remainders."""
    clusters = mix.size
    share = np.zeros(clusters)
    for r in range(clusters):
        share[pool_of[r]] += mix[r]
    total = 0.0
    for c in range(clusters):
        share[c] = share[c] ** spread if line[c] > 0 else 0.0
        total += share[c]
    owed = np.zeros(clusters)
    wanted = float(more + line.sum())
    for c in range(clusters):
        owed[c] = wanted * share[c] / total - line[c]
    for _ in range(more):
        at = int(np.argmax(owed))
        line[at] += 1
        owed[at] -= 1.0
