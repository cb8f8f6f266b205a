"""Builders of a whole service for tests: the real fleet, store, loop and routes, on a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from aiohttp.test_utils import TestClient, TestServer

from prewarm.api import Mounted, build_app
from prewarm.domain import Mode, rfc3339
from prewarm.forecast.pool import FitPool, Outcome
from prewarm.history import Retention
from prewarm.http.auth import Review
from prewarm.http.desk import Desk
from prewarm.loop.fleet import Fleet
from prewarm.loop.keeping import Keeper
from prewarm.loop.oracle import LevelOracle
from prewarm.loop.record_only import RecordOnly
from prewarm.loop.service import TickLoop
from prewarm.loop.tick import Parts
from prewarm.settings import Auth, Settings
from prewarm.store import Store
from prewarm.telemetry import Metrics

NOW = 1_796_000_460.0
"""2026-11-30T01:01:00Z: a whole minute, shortly after a whole hour."""


class HandClock:
    """A clock that stands until it is moved."""

    speed = 1.0

    def __init__(self, now: float = NOW) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def of_wall(self, at: float) -> float:
        return at

    async def next_tick(self, tick_s: float) -> tuple[float, int]:
        del tick_s
        await asyncio.sleep(3600)
        return self.time, 0


class InlinePool(FitPool):
    """Works where it is asked, without a process."""

    def __init__(self) -> None:
        super().__init__(1)

    async def run(self, work: Callable[[Any], Any], argument: Any, *, budget_s: float) -> Outcome:
        del budget_s
        return Outcome("done", work(argument), "done")


class AbsentPool(FitPool):
    """Whose worker is gone."""

    def __init__(self, reason: str = "the worker process died") -> None:
        super().__init__(1)
        self.reason = reason

    async def run(self, work: Callable[[Any], Any], argument: Any, *, budget_s: float) -> Outcome:
        del work, argument, budget_s
        return Outcome("died", None, self.reason)


@dataclass(slots=True)
class Service:
    """A service and a client of it."""

    desk: Desk
    clock: HandClock
    client: TestClient[Any, Any]

    async def tick(self, minutes: int = 1) -> None:
        """Let minutes pass, each with its tick."""
        for _ in range(minutes):
            self.clock.time += 60
            await self.desk.ticks.tick(self.clock.time)

    async def minute(self, counts: dict[str, int], sequence: int) -> None:
        """Let a minute pass, push what was called in it, and decide."""
        self.clock.time += 60
        await self.push(counts, sequence)
        await self.desk.ticks.tick(self.clock.time)

    async def push(self, counts: dict[str, int], sequence: int, *, source: str = "gateway-a") -> dict[str, Any]:
        """Push counts of the minute that just ended; the parsed answer."""
        at = rfc3339(self.clock.time - 60)
        events = [
            {"function": key, "at": at, "count": count, "duration_ms_mean": 900.0} for key, count in counts.items()
        ]
        answer = await self.client.post(
            "/v1/invocations", json={"source": source, "sequence": sequence, "events": events}
        )
        assert answer.status == 202, await answer.text()
        return cast("dict[str, Any]", await answer.json())


@asynccontextmanager
async def running_parts(
    folder: Path, *, auth: Auth | None = None, fits: FitPool | None = None, clock: HandClock | None = None
) -> AsyncIterator[tuple[Desk, HandClock, Store]]:
    """The parts of a service and its store in `folder`, without a socket."""
    clock = clock or HandClock()
    retention = Retention()
    async with Store.open(f"sqlite:///{folder / 'prewarm.db'}", retention) as store:
        settings = replace(Settings(), auth=auth or Auth())
        fleet = Fleet(settings, await store.load_history(int(clock.now() // 60)), clock, Metrics())
        keeper = Keeper(fleet, store)
        await keeper.recall(Mode.SHADOW)
        record_only = RecordOnly(fleet)
        record_only.recall(await keeper.latest_counts())
        parts = Parts((), record_only, LevelOracle(fleet, AbsentPool()), record_only, 0)
        yield Desk(fleet, keeper, fits or InlinePool(), TickLoop(fleet, parts, keeper.keep_tick)), clock, store


@asynccontextmanager
async def running_desk(
    folder: Path, *, auth: Auth | None = None, fits: FitPool | None = None, clock: HandClock | None = None
) -> AsyncIterator[tuple[Desk, HandClock]]:
    """The parts of a service over a database in `folder`, without a socket."""
    async with running_parts(folder, auth=auth, fits=fits, clock=clock) as (desk, moved, _):
        yield desk, moved


@asynccontextmanager
async def running_service(
    folder: Path, *, auth: Auth | None = None, fits: FitPool | None = None, review: Review | None = None
) -> AsyncIterator[Service]:
    """A service with a client on a socket; `review` stands for a cluster that knows tokens."""
    async with (
        running_desk(folder, auth=auth, fits=fits) as (desk, clock),
        TestClient(TestServer(build_app(desk, Mounted((), None, review)))) as client,
    ):
        yield Service(desk, clock, client)
