"""Shifts of the serverless mix (W11) for the bench of what is out of distribution: what changes from a minute on.

A lost cluster is a drawn one. The mix of work is swapped by turning the order of the functions round: the one called
most is from then on called like the one called least. Trebled demand comes in the same minutes as before, thrice as
many calls each. Forecasts of whether a function is called stay right in all of these, for every policy alike. Delays
are permuted among the clusters and told; prices are mirrored between the dearest and the cheapest. The telemetry of the
clusters is told by `gnn.bench.mix_guard`; none of it changes the world.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

import numpy as np

from gnn.mix.replay import Day
from gnn.mix.world.draw import World
from gnn.mix.world.functions import need_of
from gnn.mix.world.hits import START_MOST_S, Hits, mix_at
from prewarm.domain import Float32Array, FloatArray, IntArray

TREBLED, SLOWER = 3.0, 5.0
_LEFT_GB = 1e-3
"""Of a lost cluster: too little for any instance, and nobody divides by nothing."""
_STREAM = 747


class Shift(StrEnum):
    """What changes."""

    LOST = "a cluster lost"
    MIX = "the mix of work swapped"
    DEMAND = "demand trebled"
    STARTS = "starts five times slower"
    STALE = "telemetry stale by 10 min"
    MISSING = "telemetry missing"
    LYING = "telemetry lying"
    DELAYS = "delays permuted"
    PRICES = "prices inverted"
    FLEET = "a fleet 32 times as large"


def shifted(world: World, called: Float32Array, kind: Shift | None, at: int, seed: int) -> tuple[World, Float32Array]:
    """The world with what a shift changes of it from minute `at` on, and the forecasts (n, T) that go with it."""
    rng = np.random.default_rng([_STREAM, seed])
    if kind is Shift.LOST:
        room = world.conditions.room_gb.copy()
        room[at:, int(rng.integers(world.fleet.clusters))] = _LEFT_GB
        return replace(world, conditions=replace(world.conditions, room_gb=room)), called
    if kind is Shift.PRICES:
        price = world.conditions.price.copy()
        price[at:] = price[at:].max(axis=1, keepdims=True) + price[at:].min(axis=1, keepdims=True) - price[at:]
        return replace(world, conditions=replace(world.conditions, price=price)), called
    if kind is Shift.STARTS:
        slow = world.hits.start_s.copy()
        slow[_since(world, at) :] = np.minimum(SLOWER * slow[_since(world, at) :], START_MOST_S)
        return replace(world, hits=replace(world.hits, start_s=slow)), called
    if kind is Shift.DEMAND:
        return _trebled(world, at), called
    if kind is Shift.MIX:
        return _swapped(world, called, at, rng)
    return world, called


def permuted(day: Day, seed: int) -> None:
    """From now on each cluster is where another one was; none stays."""
    delay = day.site.delay_s
    order = np.random.default_rng([_STREAM, seed, 1]).permutation(len(delay))
    place = np.empty_like(order)
    place[order] = np.roll(order, 1)
    day.move(delay[np.ix_(place, place)])


def _since(world: World, at: int) -> int:
    """The first hit of a minute."""
    return int(world.hits.first[at])


def _trebled(world: World, at: int) -> World:
    hits, since = world.hits, _since(world, at)
    calls, origin, need = hits.calls.copy(), hits.origin.copy(), hits.need.copy()
    calls[since:] *= TREBLED
    origin[since:] *= TREBLED
    need[since:] = need_of(calls[since:].astype(np.float64), world.functions.duration_ms[hits.row[since:]])
    told = world.calls.copy()
    told[:, at:] *= TREBLED
    return replace(world, hits=replace(hits, calls=calls, origin=origin, need=need), calls=told)


def _swapped(world: World, called: Float32Array, at: int, rng: np.random.Generator) -> tuple[World, Float32Array]:
    partner = _turned(world.calls.sum(axis=1, dtype=np.float64))
    calls, told = world.calls.copy(), called.copy()
    calls[:, at:], told[:, at:] = world.calls[partner, at:], called[partner, at:]
    return replace(world, calls=calls, hits=_hits_of(world, partner, at, rng)), told


def _turned(totals: FloatArray) -> IntArray:
    """Each function's opposite in the order of calls a day, (n,)."""
    order = np.argsort(totals, kind="stable")
    partner = np.empty(len(order), np.int64)
    partner[order] = order[::-1]
    return partner


def _hits_of(world: World, partner: IntArray, at: int, rng: np.random.Generator) -> Hits:
    """The hits with those from `at` on given to the opposites, from whose callers they then come."""
    hits, since = world.hits, _since(world, at)
    minute = np.repeat(np.arange(world.minutes), np.diff(hits.first))
    row = hits.row.copy()
    row[since:] = partner[hits.row[since:]]
    order = np.lexsort((row, minute))
    row, calls, minute = row[order], hits.calls[order], minute[order]
    origin = hits.origin[order]
    mix = mix_at(world.functions, world.fleet.peak_min, row[since:], minute[since:].astype(np.float64))
    origin[since:] = rng.multinomial(calls[since:].astype(np.int64), mix)
    need = need_of(calls.astype(np.float64), world.functions.duration_ms[row])
    return replace(hits, row=row, calls=calls, need=need, start_s=hits.start_s[order], origin=origin)
