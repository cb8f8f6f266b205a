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
from gnn.mix.state import State, worth_keeping
from prewarm.domain import FloatArray, Int32Array

Array = Any
_ROUNDING = 1e-9

compiled = numba.njit(cache=True)


def decide_weighted(
    state: State, factors: FloatArray, weights: FloatArray, temperature: FloatArray, *, mix: FloatArray
) -> Int32Array:
    """Instances (n, c) for factors (n, c, F), weights (n, F) and temperature (n,) of each function.

    temperature: 1 divides the instances beyond one a pool as the calls fall, towards 0 all go to the busiest pool,
    large values divide evenly. How many are kept warm follows from the weights of `cold` and `holding` alone.
    """
    fixed = np.einsum("ncf,nf->nc", factors, weights) - factors[:, :, DELAY] * weights[:, DELAY, None]
    fixed -= factors[:, :, COLD] * weights[:, COLD, None]
    price_scale = weights[:, HOLDING] / np.maximum(weights[:, COLD], 1e-6)
    return open_pools(state, fixed, delay_price(state) * weights[:, DELAY], (price_scale, temperature), mix=mix)


def open_pools(
    state: State, fixed: FloatArray, pressing: FloatArray, scales: tuple[FloatArray, FloatArray], *, mix: FloatArray
) -> Int32Array:
    """Instances (n, c) where a pool is worth `fixed` (n, c) beside the delay it saves, a second of which is worth
    `pressing` (n,) J a minute. scales: of the holding price against a cold start's in how many are kept, and
    temperature, both (n,).
    """
    plan = np.zeros(state.warm.shape, np.int32)
    scale, spread = np.maximum(scales[0], 0.0), 1.0 / np.maximum(scales[1], 1e-3)
    prices = state.price.min() * scale
    rows = np.flatnonzero(worth_keeping(state, prices))  # the others keep nothing at any price
    fixed, pressing, mix = fixed[rows], pressing[rows], mix[rows]
    best = np.argmax(fixed - pressing[:, None] * (mix @ state.site.delay_s), axis=1)
    prices[rows] = state.price[best] * scale[rows]
    count = worth_keeping(state, prices)[rows]
    part = plan[rows]
    _open_pools(fixed, (pressing, mix, state.site.delay_s), (best, count, spread[rows]), part)
    plan[rows] = part
    return plan


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
        at, pools = best[i], 0
        while at >= 0:
            plan[i, at] = 1
            pools += 1
            for r in range(clusters):
                if delay[r, at] < nearest[r]:
                    nearest[r] = delay[r, at]
                    pool_of[r] = at
            at = _next_pool(fixed[i], pressing[i] * mix[i], (nearest, delay), plan[i])
        if count[i] > pools:
            divide(count[i] - pools, mix[i], pool_of, spread[i], plan[i])


@compiled  # type: ignore[untyped-decorator]
def _next_pool(fixed: Array, price: Array, far: Array, line: Array) -> int:
    """The cluster without a pool where one more is worth most, -1 where none is worth more than nothing."""
    nearest, delay = far
    at, most = -1, 0.0
    saved = (1.0 + _ROUNDING) * (price * nearest).sum()  # by a pool at no distance from any caller
    for c in range(line.size):
        if line[c] == 0 and fixed[c] + saved > most:
            gain = fixed[c]
            for r in range(line.size):
                gain += price[r] * max(0.0, nearest[r] - delay[r, c])
            if gain > most:
                at, most = c, gain
    return at


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
