"""What a placement with foresight knows of the whole day, laid out for the dynamic program.

`outcome` knows every call, where it came from and how long each start takes. The other two know whether a function
will be called only as the forecasts that all policies get will say it, minute by minute. `foretold` also knows the
callers' true mix, `placed` how many calls there will be and from where, should it be called: the clairvoyant placement
with the same forecasts. All know the prices and the room to come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gnn.mix.expected.teller import Teller
from gnn.mix.expected.waiting import waited_share
from gnn.mix.state import MISSING_PRICE, counted_levels, holding_cost
from gnn.mix.world.draw import World
from gnn.mix.world.hits import mix_at
from prewarm.domain import COLD_COST, Float32Array, FloatArray, Int32Array


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """chance, need, most, waits: (n, T); source: (n, T, c + 1), the last column calls from beside their instance; all
    as in `gnn.mix.bound.pools.solve`.
    """

    chance: Float32Array
    need: Int32Array
    source: Float32Array
    most: Float32Array
    waits: Float32Array


def outcome(world: World) -> Knowledge:
    """What will happen."""
    hits, shape = world.hits, world.calls.shape
    minute = np.repeat(np.arange(world.minutes), np.diff(hits.first))
    need = np.zeros(shape, np.int32)
    need[hits.row, minute] = hits.need
    called = hits.need > 0
    share = 1.0 - (1.0 - hits.start_s / 60.0) ** (hits.calls / hits.need)
    waits = np.zeros(shape, np.float32)
    waits[hits.row, minute] = COLD_COST * share
    source = np.zeros((*shape, world.fleet.clusters + 1), np.float32)
    inside = _from_caller(world.functions.caller, world.calls)[hits.row, minute]
    own = (hits.calls - inside) / hits.calls
    source[hits.row, minute, :-1] = hits.origin * own[:, None]
    source[hits.row, minute, -1] = inside
    chance = np.zeros(shape, np.float32)
    chance[hits.row, minute] = called
    return Knowledge(chance, need, source, _most(world, world.calls, need), waits)


def foretold(world: World, called: Float32Array) -> Knowledge:
    """What the forecasts will say. called: (n, T)."""
    shape, clusters = world.calls.shape, world.fleet.clusters
    calls, need = _told(world, called)
    every = np.arange(shape[0], dtype=np.int32)
    source = np.zeros((*shape, clusters + 1), np.float32)
    inside = _from_caller(world.functions.caller, calls)
    for minute in range(world.minutes):
        mix = mix_at(world.functions, world.fleet.peak_min, every, np.full(shape[0], float(minute)))
        source[:, minute, :-1] = mix * (calls - inside)[:, minute, None]
    source[:, :, -1] = inside
    waits = COLD_COST * waited_share(calls / need)
    known = Knowledge(called, need, source, _most(world, calls, need), waits.astype(np.float32))
    return traced(world, known)


def traced(world: World, known: Knowledge) -> Knowledge:
    """The same with calls from a calling function taken to come from where that function's own calls come from, since
    its pools stand near those; for placing, not for a bound.
    """
    source = known.source.copy()
    for row in np.flatnonzero(world.functions.caller >= 0):  # callers have lower indices, so theirs are traced already
        above = source[world.functions.caller[row], :, :-1]
        share = above / np.maximum(above.sum(axis=1, keepdims=True), 1e-9)
        source[row, :, :-1] += share * source[row, :, -1:]
        source[row, :, -1] = 0.0
    return replace(known, source=source)


def placed(world: World, called: Float32Array) -> Knowledge:
    """What the forecasts will say of whether a function is called, and the calls themselves where it is."""
    guess, truth = foretold(world, called), traced(world, outcome(world))
    there = truth.need > 0
    source = np.where(there[:, :, None], truth.source, guess.source)
    waits = np.where(there, truth.waits, guess.waits)
    need = np.where(there, np.minimum(truth.need, guess.need), guess.need)
    return Knowledge(called, need, source, np.where(there, truth.most, guess.most), waits)


def _told(world: World, called: Float32Array) -> tuple[Float32Array, Int32Array]:
    """Calls expected if called, and instances worth keeping then (at least 1), (n, T) each."""
    hits, teller = world.hits, Teller(len(called), world.fleet.clusters)
    hold = holding_cost(world.functions.memory_gb)
    limit = hold / (hold + COLD_COST)
    calls, need = np.zeros(called.shape, np.float32), np.ones(called.shape, np.int32)
    for minute in range(world.minutes):
        calls[:, minute] = teller.calls
        need[:, minute] = np.maximum(1, counted_levels(called[:, minute], teller.tail, limit))
        at = slice(*hits.first[minute : minute + 2])
        teller.hear(hits.row[at], hits.calls[at], hits.need[at], hits.origin[at])
    return calls, need


def _from_caller(caller: Int32Array, calls: Float32Array) -> Float32Array:
    """Calls that come from the calling function's instances, (n, T)."""
    above = np.where((caller >= 0)[:, None], calls[np.maximum(caller, 0)], np.float32(0))
    return np.minimum(calls, above)


def _most(world: World, calls: Float32Array, need: Int32Array) -> Float32Array:
    """No call costs more than its share of a missing instance, which takes at most so many calls with it, (n, T)."""
    each = np.maximum((60_000.0 / world.functions.duration_ms)[:, None], calls / np.maximum(need, 1))
    lost = np.maximum(np.minimum(each, calls), 1e-3)
    return (MISSING_PRICE / lost).astype(np.float32)


def saved_per_call(world: World) -> FloatArray:
    """GB-seconds of waste that a served call turns into use, (n,)."""
    used: FloatArray = world.functions.memory_gb * world.functions.duration_ms / 1000.0
    return used
