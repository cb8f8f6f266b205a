"""The simulated world behind `prewarm serve`: where it begins, what it remembers, and who it is connected to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from prewarm.domain import InputError, Mode
from prewarm.history import MinuteBatch
from prewarm.loop.clock import SimulatedClock
from prewarm.loop.fleet import Fleet
from prewarm.loop.keeping import Keeper
from prewarm.loop.view import TickView
from prewarm.sim.world import World
from prewarm.store import Store, find_model

MARK = "world"
RUSH_MIN = 180
PAST_MIN = 2_880


@dataclass(frozen=True, slots=True)
class WorldStart:
    """Which world it is, and at which minute it goes on; `fresh` where it has no past in the database."""

    seed: int
    minute: int
    fresh: bool

    def clock(self, speed: float) -> SimulatedClock:
        """Time from there on; a fresh world lives its first hours without waiting."""
        rush_until = (self.minute + RUSH_MIN) * 60.0 if self.fresh else 0.0
        return SimulatedClock(self.minute * 60.0, speed, rush_until=rush_until)


async def find_start(store: Store, seed: int) -> WorldStart:
    """Where the world of `seed` goes on; InputError where the database holds another one."""
    mark = await store.read(partial(find_model, name=MARK))
    if mark is None:
        return WorldStart(seed, int(time.time() // 60) - RUSH_MIN, fresh=True)
    version, minute = mark
    if version != version_of(seed):
        raise InputError(f"database: holds the simulated world of {version}; give that seed, or another --database")
    return WorldStart(seed, int(minute), fresh=False)


async def refuse_world(store: Store) -> None:
    """InputError where the database holds a simulated world: made-up counts must not mix with real ones."""
    if await store.read(partial(find_model, name=MARK)) is not None:
        raise InputError("database: holds a simulated world; name another one with --database")


def version_of(seed: int) -> str:
    """How a world is named in the database."""
    return f"seed {seed}"


def connect(world: World, fleet: Fleet, keeper: Keeper) -> None:
    """Wire the world to the service: it pushes like any gateway, and does what is decided where the mode allows it."""
    fleet.simulated = True
    fleet.measure = world.measured
    world.connect(keeper.take)
    world.managed = lambda key: fleet.told.modes.of(key) is Mode.ACTIVE


def recorder(world: World, keeper: Keeper) -> Callable[[TickView], Awaitable[None]]:
    """What keeps a tick: its decisions, and how far the world has come."""

    async def record(view: TickView) -> None:
        mark = keeper.keep_mark(MARK, version_of(world.seed), str(world.done_until))
        await asyncio.gather(keeper.keep_tick(view), mark)

    return record


def past_of(world: World, fleet: Fleet, keeper: Keeper, *, fresh: bool) -> Callable[[], Awaitable[None]]:
    """What comes before the first tick: two made-up days for a fresh world, told hour by hour between requests."""

    async def tell() -> None:
        writes = []
        for first in range(world.done_until - PAST_MIN, world.done_until, 60) if fresh else ():
            accept = partial(_tell_hour, world, fleet, first)
            writes.append(asyncio.ensure_future(keeper.ingest("past", first, accept)))
            await asyncio.sleep(0.001)
        await asyncio.gather(*writes)
        world.begin()

    return tell


def _tell_hour(world: World, fleet: Fleet, first: int) -> tuple[dict[str, Any], tuple[MinuteBatch, ...]]:
    told = world.tell_past(fleet.history, first, min(first + 60, world.done_until))
    return {"accepted": sum(len(batch.rows) for batch in told), "rejected": []}, told
