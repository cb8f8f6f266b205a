"""The running service: named tasks in one group, ticks that never stop the loop, and an orderly end.

An eternal task that ends is an error and brings the service down, loudly; a tick that fails is logged and counted, and
the next one comes. When asked to stop, the tick under way is finished, what is buffered is written, and only then do
the tasks go.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from prewarm.loop.fleet import Fleet
from prewarm.loop.tick import Parts, run_tick
from prewarm.loop.view import TickView

EARLY_S = 0.5
log = logging.getLogger("prewarm.loop")


class EndedError(RuntimeError):
    """A task that runs for ever ended."""


async def eternal(name: str, work: Awaitable[None]) -> None:
    """`work`, which is not supposed to end; EndedError when it does."""
    await work
    raise EndedError(f"task {name} ended")


async def run_until(stop: asyncio.Event, tasks: Mapping[str, Awaitable[None]], busy: asyncio.Lock) -> None:
    """Run the named tasks until `stop` is set and `busy` is free; a failure of one cancels the others and is raised."""
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(eternal(name, work), name=name) for name, work in tasks.items()]
        await stop.wait()
        async with busy:
            for task in running:
                task.cancel()


@dataclass(slots=True)
class TickLoop:
    """Ticks for ever. `record` keeps a finished tick; it may be slow, and a failure of it is logged, never fatal."""

    fleet: Fleet
    parts: Parts
    record: Callable[[TickView], Awaitable[None]]
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a tick is under way, so that a stop can wait for its end."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a function appeared, which need not wait for the next whole minute."""

    async def run(self) -> None:
        """Wait, tick, repeat."""
        while True:
            now, skipped = await self.fleet.clock.next_tick(self.fleet.settings.serve.tick_s)
            if skipped:
                self.fleet.metrics.late.inc(skipped)
            async with self.busy:
                await self.tick(now)

    async def run_early(self) -> None:
        """An extra tick soon after functions appeared, at most one every `EARLY_S`."""
        while True:
            await self.wake.wait()
            await asyncio.sleep(EARLY_S)
            self.wake.clear()
            async with self.busy:
                await self.tick(self.fleet.clock.now())

    async def tick(self, now: float) -> None:
        """One tick; the outermost loop, so whatever goes wrong is logged and counted here."""
        try:
            view = await run_tick(self.fleet, self.parts, now)
            await self.record(view)
        except Exception:
            self.fleet.metrics.ticks.labels("failed").inc()
            log.exception("tick failed; pools stay as they are")
        else:
            self.fleet.metrics.ticks.labels("done").inc()
