"""A lower bound on J: the room's limits priced instead of kept, and every function solved on its own.

For any prices of room (0 or more), the sum of the functions' least costs at those prices, less what the whole room is
worth, is at most what any policy can reach (Lagrangian duality). Prices follow the excess of the functions' own
choices over the room, by subgradient steps; the best value seen counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from gnn.mix.bound.knowledge import Knowledge, outcome, saved_per_call
from gnn.mix.bound.pools import choose, solve
from gnn.mix.state import DELAY_PRICE_PER_S, MISSING_PRICE, holding_cost
from gnn.mix.world.draw import World
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, FloatArray

Array = Any
STEPS = 4
FIRST_STEP = 0.02  # J a GB and minute for a whole room's excess
NEARBY_J = DELAY_PRICE_PER_S * 0.001  # a call served beside its caller


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """value: no policy's J is less; by_function: (n,) its parts before the room's worth is taken off; room_price: (T,
    c) J a GB and minute; history: the value after each step.
    """

    value: float
    by_function: FloatArray
    room_price: FloatArray
    history: tuple[float, ...]


def lower_bound(world: World, steps: int = STEPS) -> Bound:
    """The bound for the counted minutes of a world."""
    known = outcome(world)
    room, first = world.conditions.room_gb, world.warm_up
    price = np.zeros_like(room)
    best = Bound(-np.inf, np.zeros(0), price, ())
    history: list[float] = []
    step = FIRST_STEP
    for _ in range(max(1, steps)):
        costs, taken = priced(world, known, price)
        value = float(costs.sum() - (price[first:] * room[first:]).sum())
        history.append(value)
        if value > best.value:
            best = Bound(value, costs, price, ())
        else:
            step /= 2.0
        price = np.maximum(0.0, best.room_price + step * (taken - room) / max(float(room.mean()), 1e-6))
    return Bound(best.value, best.by_function, best.room_price, tuple(history))


def priced(world: World, known: Knowledge, room_price: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least cost of each function (n,) at these prices of room (T, c), and the memory so taken (T, c)."""
    taken = np.zeros_like(world.conditions.room_gb)
    hold = holding_cost(world.functions.memory_gb)
    facts = (hold, saved_per_call(world) * IDLE_COST_PER_GB_S, world.functions.memory_gb)
    arrays = (known.chance, known.need, known.source, known.most, known.waits)
    prices = (world.fleet.delay_s * DELAY_PRICE_PER_S, NEARBY_J, COLD_COST, MISSING_PRICE)
    costs: FloatArray = _all(arrays, facts, (world.conditions.price, room_price), prices, world.warm_up, taken)
    return costs, taken


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _all(arrays: Array, facts: Array, weather: Array, prices: Array, first: int, taken: Array) -> Any:
    chance, need, source, most, waits = arrays
    hold, saved, memory = facts
    price, room_price = weather
    minutes, clusters = price.shape
    values, choices = np.zeros((minutes, clusters + 2)), np.zeros((minutes, clusters + 2), np.int64)
    costs = np.zeros(len(chance))
    for i in range(len(chance)):
        holding = hold[i] * price + memory[i] * room_price
        day = (chance[i], need[i], source[i], holding, saved[i] * price, most[i], waits[i])
        costs[i] = solve(day, prices, first, values, choices)
        _walk(day, (values, choices), (first, memory[i]), taken)
    return costs


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _walk(day: Array, solved: Array, facts: Array, taken: Array) -> None:
    """Add the memory that the best choices take; they start from the best set."""
    chance, need, _, holding, _, _, waits = day
    values, choices = solved
    first, memory = facts
    minutes, clusters = holding.shape
    standing = (1 << clusters) - 1
    for t in range(first, minutes):
        chosen = choose(standing, values[t], choices[t], chance[t] * waits[t])
        if chosen == 0 and chance[t] > 0.0:
            chosen = choices[t, clusters + 1]
        pools, cheapest = 0, -1
        for c in range(clusters):
            if (chosen >> c) & 1:
                taken[t, c] += memory
                pools += 1
                if cheapest < 0 or holding[t, c] < holding[t, cheapest]:
                    cheapest = c
        if cheapest >= 0 and need[t] > pools:
            taken[t, cheapest] += memory * (need[t] - pools)
        standing = chosen
