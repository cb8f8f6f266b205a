"""Placements that see further than a policy may, to tell what foresight is worth and what deciding better is.

Each is played in the same world by the same rules as any policy: a set of pools for every function, chosen each minute
from where it really stands, by a dynamic program over the rest of the day. Three steps of knowledge: what will happen;
what will be forecast, with the callers' true mix, prices and room; and what a policy sees, taken to stay as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from gnn.mix.bound.dual import NEARBY_J
from gnn.mix.bound.knowledge import Knowledge, saved_per_call
from gnn.mix.bound.pools import choose, members, one_minute, set_costs, solve
from gnn.mix.expected.waiting import waited_share
from gnn.mix.rules.weighted import divide
from gnn.mix.state import DELAY_PRICE_PER_S, MISSING_PRICE, State, counted_levels, holding_cost
from gnn.mix.world.draw import World
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, Float32Array, FloatArray, Int32Array

Array = Any


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """Sets chosen by tables: values (n, T, c + 2) and choices, as `gnn.mix.bound.pools.solve` fills them."""

    name: str
    known: Knowledge
    values: Float32Array
    choices: Int32Array

    def decide(self, state: State) -> Int32Array:
        """Pools by the tables, instances beyond one a pool as the calls are known to fall."""
        known, at = self.known, state.minute
        fresh = known.chance[:, at] * known.waits[:, at]
        plan = np.zeros(state.warm.shape, np.int32)
        sources = known.source[:, at, :-1]
        tables = self.values[:, at], self.choices[:, at]
        _plan_all(state.warm, tables, fresh, (known.need[:, at], sources, state.site.delay_s), plan)
        return plan


def planned(world: World, known: Knowledge, name: str, room_price: FloatArray | None = None) -> Planned:
    """Solve every function's whole day once; `room_price` (T, c) J a GB and minute keeps the plans inside the room."""
    shape = (*known.chance.shape, world.fleet.clusters + 2)
    values, choices = np.zeros(shape, np.float32), np.zeros(shape, np.int32)
    scarce = np.zeros_like(world.conditions.room_gb) if room_price is None else room_price
    facts = (
        holding_cost(world.functions.memory_gb),
        saved_per_call(world) * IDLE_COST_PER_GB_S,
        world.functions.memory_gb,
    )
    arrays = (known.chance, known.need, known.source, known.most, known.waits)
    prices = (world.fleet.delay_s * DELAY_PRICE_PER_S, NEARBY_J, COLD_COST, MISSING_PRICE)
    _solve_all(arrays, facts, (world.conditions.price, scarce), prices, (values, choices))
    return Planned(name, known, values, choices)


@dataclass(frozen=True, slots=True)
class RollingHorizon:
    """What a policy sees, taken to stay as it is for `horizon` minutes, and the best sets under that."""

    horizon: int = 3
    memory: int = 0
    prior: float = 1.5
    name: str = "rolling horizon"

    def decide(self, state: State) -> Int32Array:
        """One dynamic program a function and minute."""
        mix, site = state.mix(self.memory, self.prior), state.site
        hold = site.hold
        limit = hold / (hold + COLD_COST)
        need = np.maximum(1, counted_levels(state.called, state.tail, limit))
        waits = COLD_COST * waited_share(state.calls / need)
        saved = site.memory_gb * (60.0 / site.per_instance) * IDLE_COST_PER_GB_S
        plan = np.zeros(state.warm.shape, np.int32)
        seen = (state.called, need, mix * state.calls[:, None], waits, state.warm)
        prices = (site.delay_s * DELAY_PRICE_PER_S, NEARBY_J, COLD_COST, MISSING_PRICE)
        _roll(seen, (hold, saved, state.price), prices, (self.horizon, site.delay_s), plan)
        return plan


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _solve_all(arrays: Array, facts: Array, weather: Array, prices: Array, tables: Array) -> None:
    chance, need, source, most, waits = arrays
    hold, saved, memory = facts
    price, room_price = weather
    values, choices = tables
    minutes, width = values.shape[1], values.shape[2]
    one, at = np.zeros((minutes, width)), np.zeros((minutes, width), np.int64)
    for i in range(len(chance)):
        holding = hold[i] * price + memory[i] * room_price
        day = (chance[i], need[i], source[i], holding, saved[i] * price, most[i], waits[i])
        solve(day, prices, 0, one, at)
        values[i] = one
        choices[i] = at


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _plan_all(warm: Array, tables: Array, fresh: Array, calls: Array, plan: Array) -> None:
    values, choices = tables
    need, sources, delay = calls
    for i in range(len(warm)):
        chosen = choose(_standing(warm[i]), values[i], choices[i], fresh[i])
        _fill(chosen, need[i], sources[i], delay, plan[i])


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _standing(line: Array) -> int:
    mask = 0
    for c in range(line.size):
        if line[c] > 0:
            mask |= 1 << c
    return mask


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _fill(chosen: int, need: int, source: Array, delay: Array, line: Array) -> None:
    """Instances (c,) for a set of pools: one each, the rest of the need as the calls fall to the nearest."""
    clusters = line.size
    if chosen == 0:
        return
    pool_of = np.zeros(clusters, np.int64)
    pools = 0
    for c in range(clusters):
        if (chosen >> c) & 1:
            line[c] = 1
            pools += 1
    for r in range(clusters):
        nearest = -1
        for c in range(clusters):
            if line[c] > 0 and (nearest < 0 or delay[r, c] < delay[r, nearest]):
                nearest = c
        pool_of[r] = nearest
    if need > pools:
        divide(need - pools, source, pool_of, 1.0, line)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _roll(seen: Array, facts: Array, prices: Array, limits: Array, plan: Array) -> None:
    called, need, sources, waits, warm = seen
    hold, saved, price = facts
    horizon, delay_s = limits
    clusters = price.size
    table = members(clusters)
    costs = np.zeros((3, len(table)))
    ahead, best, at = np.zeros(len(table)), np.zeros(clusters + 2), np.zeros(clusters + 2, np.int64)
    source = np.zeros(clusters + 1)
    for i in range(len(called)):
        p = called[i]
        standing = _standing(warm[i])
        if standing == 0 and p * (COLD_COST + hold[i]) < 0.5 * hold[i]:
            continue
        source[:clusters] = sources[i]
        set_costs(need[i], (source, hold[i] * price, saved[i] * price, np.inf), prices, table, costs)
        ahead[:] = 0.0
        for _ in range(horizon):
            one_minute(p, waits[i], costs, (table, need[i], prices), (best, at, ahead))
        chosen = choose(standing, best, at, p * waits[i])
        _fill(chosen, need[i], sources[i], delay_s, plan[i])
