"""One function's day as a dynamic program over which clusters hold a pool of it.

The state is the set of clusters with an instance, a bit mask (so at most seven clusters). Whether a minute's start
waits depends only on whether the new set keeps any of the old one, so the value of a state is a minimum over its
members, and a day costs minutes x sets. Chances p of a call may be 0 or 1, then the program knows what comes, or lie
between, then it knows what a forecast knew. Costs of a pair (set, minute) never exceed what the replay charges:
capacity of a pool is not counted, and of instances beyond one a pool only the cheapest place.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

Array = Any

compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def members(clusters: int) -> Any:
    """(2^c, c) True where the set holds the cluster."""
    table = np.zeros((1 << clusters, clusters), np.bool_)
    for one in range(1 << clusters):
        for c in range(clusters):
            table[one, c] = (one >> c) & 1
    return table


@compiled  # type: ignore[untyped-decorator]
def set_costs(need: int, minute: Array, prices: Array, table: Array, out: Array) -> None:
    """Fill out (3, 2^c): what holding each set costs with this need, what its calls cost, what starting it on demand
    costs beside both. The empty set costs nothing.

    minute: source (c + 1,), holding (c,), saved (c,) of the waste by a call served there, most a call can cost (its
    share of an instance that is missing instead); prices: as in `solve`.
    """
    source, holding, saved, most = minute
    delay, nearby, cold, missing = prices
    out[:, 0] = 0.0
    clusters = table.shape[1]
    for one in range(1, table.shape[0]):
        hold, cheapest, pools = 0.0, np.inf, 0
        for c in range(clusters):
            if table[one, c]:
                hold += holding[c]
                cheapest = min(cheapest, holding[c])
                pools += 1
        more = max(0, need - pools)
        out[0, one] = hold + more * min(cheapest, missing)
        out[2, one] = pools * cold + more * min(cold, max(0.0, missing - cheapest))
        spent = 0.0
        for r in range(clusters + 1):
            if source[r] > 0.0:
                least = most
                for c in range(clusters):
                    if table[one, c]:
                        least = min(least, (delay[r, c] if r < clusters else nearby) - saved[c])
                spent += source[r] * least
        out[1, one] = spent


@compiled  # type: ignore[untyped-decorator]
def solve(day: Array, prices: Array, first: int, values: Array, choices: Array) -> float:
    """Least expected cost from minute `first` on, entering it with any set; fills values and choices for `choose`.

    day: chance (T,) of a call, need (T,) if called, source (T, c + 1) calls by region and, last, those that come from
    wherever is best, holding (T, c), saved (T, c) and most (T,) as in `set_costs`, waits (T,): cost of a start that
    calls wait for. prices: J of a call from a region served in a cluster (c, c), of one from beside its instance, of
    a cold start, of a missing instance. values, choices: (T, c + 2), the best set with each cluster, any, none.
    """
    chance, need, source, holding, saved, most, waits = day
    minutes, clusters = holding.shape
    table = members(clusters)
    costs = np.zeros((3, len(table)))
    ahead = np.zeros(len(table))
    for t in range(minutes - 1, first - 1, -1):
        set_costs(need[t], (source[t], holding[t], saved[t], most[t]), prices, table, costs)
        one_minute(chance[t], waits[t], costs, (table, need[t], prices), (values[t], choices[t], ahead))
    return float(ahead.min())


@compiled  # type: ignore[untyped-decorator]
def one_minute(p: float, waits: float, costs: Array, facts: Array, tables: Array) -> None:
    """One step back in time: the best sets into a line of values and choices (c + 2,), `ahead` (2^c,) to before it.

    p: chance of a call; facts: members, need if called, prices as in `solve`.
    """
    table, need, prices = facts
    best, at, ahead = tables
    missing = prices[3]
    clusters = table.shape[1]
    best[:] = np.inf
    on_demand, begun = missing * need + ahead[0], 0
    for one in range(1, len(table)):
        total = costs[0, one] + p * costs[1, one] + ahead[one]
        for c in range(clusters):
            if table[one, c] and total < best[c]:
                best[c], at[c] = total, one
        if total < best[clusters]:
            best[clusters], at[clusters] = total, one
        other = costs[0, one] + costs[1, one] + costs[2, one] + ahead[one]
        if p > 0.0 and table[one].sum() <= need and other < on_demand:
            on_demand, begun = other, one
    best[clusters + 1] = p * on_demand + (1.0 - p) * ahead[0]
    at[clusters + 1] = begun
    _step(best, p * waits, table, ahead)


@compiled  # type: ignore[untyped-decorator]
def _step(best: Array, fresh: float, table: Array, ahead: Array) -> None:
    """The value of standing with each set before a minute, into ahead (2^c,)."""
    clusters = table.shape[1]
    ahead[0] = min(best[clusters] + fresh, best[clusters + 1])
    for one in range(1, len(table)):
        least = ahead[0]
        for c in range(clusters):
            if table[one, c]:
                least = min(least, best[c])
        ahead[one] = least


@compiled  # type: ignore[untyped-decorator]
def choose(standing: int, best: Array, at: Array, fresh: float) -> int:
    """The set to hold in a minute for the one that stands; `fresh`: expected cost of a start that calls wait for."""
    clusters = best.size - 2
    least, chosen = best[clusters + 1], 0
    if best[clusters] + fresh < least:
        least, chosen = best[clusters] + fresh, at[clusters]
    for c in range(clusters):
        if (standing >> c) & 1 and best[c] < least:
            least, chosen = best[c], at[c]
    return chosen
