"""Worlds small enough to work out by hand, and a small source to draw worlds from without the public files."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gnn.mix.replay import Day, Outcome
from gnn.mix.world.draw import World
from gnn.mix.world.fleet import Fleet
from gnn.mix.world.functions import Functions, need_of
from gnn.mix.world.hits import Hits
from gnn.mix.world.shocks import Conditions
from gnn.mix.world.source import Source, kept_apart
from prewarm.domain import Float32Array, FloatArray, IntArray

MIDNIGHT = 0


@dataclass
class Tiny:
    """Two clusters 20 ms apart (1 ms inside), memory at 1 and 2 a GB; functions of 1 GB whose calls run 6 s, so that
    an instance serves 10 a minute. `calls[function][minute]` is (from a, from b); a start takes `start_s`.
    """

    calls: list[list[tuple[int, int]]]
    start_s: float = 0.0
    room_gb: list[list[float]] | None = None
    caller: list[int] = field(default_factory=list)
    duration_ms: float = 6000.0
    memory_gb: float = 1.0
    price: tuple[float, float] = (1.0, 2.0)
    warm_up: int = 0

    def world(self) -> World:
        """The world, with as many minutes as there are calls."""
        origin = np.array(self.calls, dtype=np.float32)
        counts = origin.sum(axis=2)
        size, minutes = counts.shape
        delay = np.array([[0.001, 0.020], [0.020, 0.001]])
        fleet = Fleet(np.ones(2), np.array([0, 1]), np.array(self.price), delay, np.zeros(2))
        memory, duration = np.full(size, self.memory_gb), np.full(size, self.duration_ms)
        caller = np.array(self.caller or [-1] * size, np.int32)
        mix = np.full((size, 2), 0.5)
        functions = Functions(np.arange(size), memory, duration, caller, np.zeros(size), mix)
        room = np.full((minutes, 2), 1e6) if self.room_gb is None else np.array(self.room_gb, np.float64)
        conditions = Conditions(room, np.tile(fleet.price, (minutes, 1)), 0, 0)
        return World("tiny", fleet, functions, self._hits(origin, counts, duration), conditions, counts, self.warm_up)

    def _hits(self, origin: Float32Array, counts: Float32Array, duration: FloatArray) -> Hits:
        minute, row = np.nonzero(counts.T > 0)
        calls = counts[row, minute]
        first = np.searchsorted(minute, np.arange(counts.shape[1] + 1)).astype(np.int64)
        need = need_of(calls.astype(np.float64), duration[row])
        starts = np.full(len(row), self.start_s, np.float32)
        return Hits(first, row.astype(np.int32), calls, need, starts, origin[row, minute])

    def played(self, *plans: list[list[int]]) -> Outcome:
        """The bill of one plan a minute, each a row of (in a, in b) for every function."""
        return self.day(*plans).outcome()

    def day(self, *plans: list[list[int]]) -> Day:
        """The day after these plans."""
        world = self.world()
        day = Day(world, np.full(world.calls.shape, 0.5, np.float32))
        for plan in plans:
            day.play(np.array(plan, np.int32))
        return day


def small_source(series: int = 40, seed: int = 0) -> Source:
    """Exemplars of two hours: timers, rare ones and busy ones; marginals of a few values."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((series, 120), np.float32)
    for row in range(series):
        every = int(rng.integers(1, 30))
        counts[row, rng.integers(every) :: every] = rng.integers(1, 2 + 40 // every)
    labels = tuple(str(row) for row in range(series))
    weight: IntArray = rng.integers(1, 9, series)
    duration_calls = np.sort(rng.integers(1, 3000, 200)).astype(np.float64)
    return Source(
        labels,
        counts,
        weight,
        kept_apart(labels, counts.sum(axis=1, dtype=np.float64)),
        np.exp(rng.normal(6.0, 1.5, 200)),
        duration_calls,
        rng.choice([128.0, 170.0, 512.0], 50),
        rng.choice([131072.0, 262144.0, 524288.0], 60),
        {"made": "up"},
    )
