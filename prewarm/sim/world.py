"""The embedded world: a made-up fleet that calls, starts and stops in step with the service's clock.

It is a source (its teams' gateways push their counts like any other), a platform (instances that are warm) and an
applier (it does what is decided), so the service runs the very code that it runs against a cluster. Where the mode lets
nobody decide, its pools follow a keep-alive of ten minutes, as a platform without prewarm would. Now and then one
team's gateway is silent for some minutes, so that a held decision can be seen. Its instances are a number a function,
or stand on a ground that says where they run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from prewarm.collect.push import Event
from prewarm.domain import Decision, FunctionKey, Int32Array, IntArray
from prewarm.history import History, MinuteBatch
from prewarm.policy.columns import Measured
from prewarm.sim.world_calls import DAY_MIN, Population, day_counts, population

KEEP_ALIVE_MIN = 10


class Ground(Protocol):
    """Where instances run, in the rows of the world's population."""

    def existing(self) -> IntArray:
        """Instances that are ready or starting, (n,)."""
        ...

    def need(self, need: IntArray | Int32Array, now: float) -> IntArray:
        """Calls need so many instances, (n,): how many of them start cold, (n,)."""
        ...


Push = Callable[[str, int, Sequence[Event]], Awaitable[object]]
SILENT_EVERY_MIN = 420
SILENT_MIN = 12


class World:
    """A population of functions from `start_minute` on; everything it does follows from its seed and the decisions."""

    def __init__(
        self,
        seed: int,
        start_minute: int,
        *,
        functions: int = 200,
        ground: Callable[[Population], Ground] | None = None,
    ) -> None:
        self.seed = seed
        self.people: Population = population(seed, functions)
        self.done_until = start_minute
        """Minutes before this one have happened."""
        self.managed: Callable[[FunctionKey], bool] = lambda _: True
        """Whether the service's decisions are carried out for a function; set by whoever wires the parts."""
        n = len(self.people.keys)
        self._rows = {key: row for row, key in enumerate(self.people.keys)}
        self.ground = None if ground is None else ground(self.people)
        self._pool: Int32Array = np.zeros(n, dtype=np.int32)
        self._recent: Int32Array = np.zeros((KEEP_ALIVE_MIN, n), dtype=np.int32)
        self.cold_starts: IntArray = np.zeros(n, dtype=np.int64)
        self._push: Push | None = None
        self._day = lru_cache(maxsize=3)(lambda day: day_counts(seed, functions, day))

    def connect(self, push: Push) -> None:
        """Where the gateways push to: source, sequence, events."""
        self._push = push

    def counts(self, minute: int) -> IntArray:
        """Calls of every function in `minute`, (n,)."""
        column: IntArray = self._day(minute // DAY_MIN)[:, minute % DAY_MIN]
        return column

    def tell_past(self, history: History, first: int, until: int) -> tuple[MinuteBatch, ...]:
        """Tell `history` of the minutes [first, until), as if the service had been there; what was told."""
        for key in self.people.keys:
            history.index(key)
        told = []
        for minute in range(first, until):
            counts = self.counts(minute)
            rows = np.flatnonzero(counts).astype(np.int32)
            running = counts * self.people.duration_s / 60
            batch = MinuteBatch(minute, rows, counts[rows].astype(np.float32), running[rows].astype(np.float32))
            history.observe(batch, now_minute=minute + 1)
            told.append(batch)
        return tuple(told)

    def begin(self) -> None:
        """Set the pools to what a keep-alive of ten minutes would hold at the start."""
        self._recent[:] = [self._need(self.done_until - back) for back in range(KEEP_ALIVE_MIN, 0, -1)]
        self._pool = self._recent.max(axis=0)
        if self.ground is not None:
            self.ground.need(self._pool, self.done_until * 60.0)

    async def collect(self, now: float) -> None:
        """Let the minutes before `now` happen, and push what the gateways saw of them."""
        until = int(now // 60)
        for minute in range(self.done_until, until):
            self._happen(minute)
            await self._tell(minute)
        self.done_until = max(self.done_until, until)

    def warm(self, keys: Sequence[FunctionKey]) -> Int32Array:
        """Instances that are warm now, (n,)."""
        rows = np.array([self._rows.get(key, -1) for key in keys], dtype=np.int64)
        pool = self._pool if self.ground is None else self.ground.existing()
        return np.where(rows >= 0, pool[rows], 0).astype(np.int32)

    def measured(self, keys: Iterable[FunctionKey]) -> Measured:
        """Memory and start-up time of the functions, NaN for those of others."""
        rows = np.array([self._rows.get(key, -1) for key in keys], dtype=np.int64)
        memory, start = self.people.memory_mib, self.people.start_s
        known = rows >= 0
        return Measured(np.where(known, memory[rows], np.nan), np.where(known, start[rows], np.nan))

    async def apply(self, decisions: tuple[Decision, ...]) -> frozenset[str]:
        """Start and stop what was decided; functions that nobody decides for fall back to their keep-alive."""
        alone = self.kept_alive()
        self._pool = np.where(alone >= 0, alone, self._pool).astype(np.int32)
        done = set()
        for made in decisions:
            row = self._rows.get(made.function)
            if row is not None and made.held is None:
                self._pool[row] = made.to_count
                done.add(made.id)
        return frozenset(done)

    def kept_alive(self) -> Int32Array:
        """What the platform's own keep-alive holds of functions that nobody decides for, -1 for the others, (n,)."""
        alone = np.array([not self.managed(key) for key in self.people.keys], dtype=np.bool_)
        kept: Int32Array = np.where(alone, self._recent.max(axis=0), -1).astype(np.int32)
        return kept

    def is_silent(self, team: str, minute: int) -> bool:
        """Whether this team's gateway says nothing of `minute`."""
        teams = sorted({key.partition("/")[0] for key in self.people.keys})
        turn, within = divmod(minute, SILENT_EVERY_MIN)
        return within < SILENT_MIN and teams[(turn + self.seed) % len(teams)] == team

    def _need(self, minute: int) -> Int32Array:
        need: Int32Array = np.ceil(self.counts(minute) * self.people.duration_s / 60).astype(np.int32)
        return need

    def _happen(self, minute: int) -> None:
        """Calls beyond the pool start an instance cold; it stays until somebody lets it go."""
        need = self._need(minute)
        if self.ground is None:
            self.cold_starts += np.maximum(need - self._pool, 0)
            self._pool = np.maximum(self._pool, need)
        else:
            self.cold_starts += self.ground.need(need, minute * 60.0)
        self._recent = np.roll(self._recent, -1, axis=0)
        self._recent[-1] = need

    async def _tell(self, minute: int) -> None:
        assert self._push is not None, "connect() comes first"
        counts = self.counts(minute)
        gateways: dict[str, list[Event]] = {}
        for row, key in enumerate(self.people.keys):
            event = Event(key, minute * 60.0, 60, int(counts[row]), None, float(self.people.duration_s[row]) * 1000)
            gateways.setdefault(key.partition("/")[0], []).append(event)
        spoken = [(team, events) for team, events in gateways.items() if not self.is_silent(team, minute)]
        await asyncio.gather(*(self._push(f"gateway-{team}", minute, events) for team, events in spoken))
