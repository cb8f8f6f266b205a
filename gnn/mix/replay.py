"""A day of the world under one policy: decide, play the minute, hear what happened; the bill by function and minute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gnn.mix.expected.teller import Teller
from gnn.mix.minute import ALLOCATED, COLD, DELAY, LEDGER, MISSING, MOVES, ROOM, TALLY, USED, WASTE, run_minute
from gnn.mix.state import DELAY_PRICE_PER_S, MISSING_PRICE, Policy, Site, State, holding_cost
from gnn.mix.world.draw import World
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, Float32Array, FloatArray, Int32Array, IntArray

PRICES = np.array([COLD_COST, IDLE_COST_PER_GB_S, DELAY_PRICE_PER_S, MISSING_PRICE])


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """Clusters by delay. pairs: (c * c, 2) region and cluster, nearest first; nearest: (c, c) clusters of a region."""

    pairs: IntArray
    nearest: IntArray
    delay_s: FloatArray

    @classmethod
    def of(cls, delay_s: FloatArray) -> Maps:
        """Ties go to the lower index."""
        size = len(delay_s)
        order = np.argsort(delay_s, axis=None, kind="stable")
        pairs = np.column_stack(np.divmod(order, size))
        return cls(pairs, np.argsort(delay_s, axis=1, kind="stable"), delay_s)

    @property
    def arrays(self) -> tuple[IntArray, IntArray, FloatArray]:
        """As the kernels take them."""
        return self.pairs, self.nearest, self.delay_s


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The bill of the counted minutes. ledger: (n, 4) by function, in the units of `LEDGER`, waste already times its
    price; by_minute: (T, 4) the same by minute; tally: (5,) as `TALLY`.
    """

    ledger: FloatArray
    by_minute: FloatArray
    tally: FloatArray

    @property
    def parts(self) -> FloatArray:
        """The four parts of J, (4,)."""
        priced: FloatArray = self.ledger.sum(axis=0) * PRICES
        return priced

    @property
    def total(self) -> float:
        """J."""
        return float(self.parts.sum())

    @property
    def by_function(self) -> FloatArray:
        """J of each function, (n,)."""
        priced: FloatArray = self.ledger @ PRICES
        return priced

    def row(self) -> dict[str, float]:
        """The parts as a table shows them."""
        parts, tally = self.parts, self.tally
        return {
            "J": self.total,
            "cold": float(parts[COLD]),
            "waste": float(parts[WASTE]),
            "delay": float(parts[DELAY]),
            "missing": float(parts[MISSING]),
            "allocated / room": float(tally[ALLOCATED] / tally[ROOM]),
            "used / allocated": float(tally[USED] / max(tally[ALLOCATED], 1e-9)),
            "moves": float(tally[MOVES]),
        }


class Day:
    """A replay that stands before some minute: `state` is what a policy sees, `play` goes on by one plan."""

    def __init__(self, world: World, called: Float32Array) -> None:
        """called: (n, T) P(a call in minute t | before t)."""
        functions, fleet = world.functions, world.fleet
        self._world, self._called, self._maps = world, called, Maps.of(fleet.delay_s)
        self._facts = (
            functions.memory_gb,
            60_000.0 / functions.duration_ms,
            functions.duration_ms / 1000.0,
            functions.caller,
        )
        hold = holding_cost(functions.memory_gb)
        self.site = Site(
            fleet.delay_s,
            fleet.share,
            functions.memory_gb,
            hold,
            self._facts[1],
            functions.caller,
            functions.payload_kib,
        )
        self.minute = 0
        self.warm: Int32Array = np.zeros((functions.size, fleet.clusters), np.int32)
        self._teller = Teller(functions.size, fleet.clusters)
        self._ledger, self._tally = np.zeros((functions.size, len(LEDGER))), np.zeros(len(TALLY))
        self._by_minute = np.zeros((world.minutes, len(LEDGER)))

    @property
    def state(self) -> State:
        """What is known before the minute to decide."""
        told, before = self._teller, max(0, self.minute - 1)
        conditions = self._world.conditions
        return State(
            self.site,
            self.minute,
            self._called[:, self.minute],
            told.tail,
            told.calls,
            told.seen,
            conditions.price[before],
            conditions.room_gb[before],
            self.warm,
        )

    def skip(self, until: int) -> None:
        """Hear the minutes up to this one as if nobody had served them; each function's calls come from its callers."""
        hits = self._world.hits
        for minute in range(self.minute, until):
            at = slice(*hits.first[minute : minute + 2])
            self._teller.hear(hits.row[at], hits.calls[at], hits.need[at], hits.origin[at])
        self.minute = until

    def move(self, delay_s: FloatArray) -> None:
        """From now on the clusters are so far apart, (c, c), and everybody knows."""
        self._maps, self.site = Maps.of(delay_s), replace(self.site, delay_s=delay_s)

    def play(self, plan: Int32Array) -> FloatArray:
        """Play the coming minute with `plan` (n, c); what it cost each function, (n, 4) in the units of `LEDGER`."""
        hits, at = self._world.hits, slice(*self._world.hits.first[self.minute : self.minute + 2])
        conditions = self._world.conditions
        ledger, tally = np.zeros_like(self._ledger), np.zeros_like(self._tally)
        came = np.zeros((at.stop - at.start, self.warm.shape[1]))
        called = (hits.row[at], hits.calls[at], hits.need[at], hits.start_s[at], hits.origin[at])
        now = (conditions.price[self.minute], conditions.room_gb[self.minute])
        wanted = np.ascontiguousarray(plan, dtype=np.int32)
        self.warm = run_minute(called, (wanted, self.warm), self._facts, now, self._maps.arrays, (ledger, tally, came))
        self._teller.hear(called[0], called[1], called[2], came)
        if self.minute >= self._world.warm_up:
            self._ledger += ledger
            self._tally += tally
            self._by_minute[self.minute] = ledger.sum(axis=0)
        self.minute += 1
        return ledger

    def outcome(self) -> Outcome:
        """The bill so far."""
        return Outcome(self._ledger.copy(), self._by_minute.copy(), self._tally.copy())


def replay(world: World, called: Float32Array, policy: Policy, told: Callable[[float], None] | None = None) -> Outcome:
    """The whole day under one policy."""
    day = Day(world, called)
    for minute in range(world.minutes):
        day.play(policy.decide(day.state))
        if told is not None:
            told((minute + 1) / world.minutes)
    return day.outcome()
