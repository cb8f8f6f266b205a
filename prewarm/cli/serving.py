"""How the service is put together, started, reloaded and stopped; nowhere else are its parts wired.

Order of the start: settings, database, history, socket, address on the standard output, then workers, past and ticks,
so that it answers within a second or two whatever the history. Order of the stop: no new connections, the requests and
the tick under way finish, what is buffered is written, the workers and the database close.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import orjson

from prewarm.api import Certificates, build_app, listen
from prewarm.cli import world as worlds
from prewarm.cli.scorers import put_on, read_scorer
from prewarm.domain import Mode, PrewarmError
from prewarm.forecast.pool import FitPool
from prewarm.history import Retention
from prewarm.http.auth import check_listen
from prewarm.http.desk import Desk
from prewarm.loop.clock import Clock, WallClock
from prewarm.loop.fleet import Fleet
from prewarm.loop.keeping import Keeper
from prewarm.loop.oracle import LevelOracle
from prewarm.loop.patient import model_pool
from prewarm.loop.record_only import RecordOnly
from prewarm.loop.service import TickLoop, run_until
from prewarm.loop.tick import Parts
from prewarm.settings import Settings
from prewarm.sim.world import World
from prewarm.sim.world_calls import Population
from prewarm.store import Store
from prewarm.telemetry import Metrics, log_to_stderr, without_password

if TYPE_CHECKING:
    from federation.kubeconfig.source import Places
    from prewarm.cli.fleet_part import FleetPart

log = logging.getLogger("prewarm.serve")

MAINTAIN_S = 15.0
CERTIFICATES_S = 30.0
FIT_PRELOAD = ("prewarm.forecast.stateless",)
PUSH_LAG_MIN = 2
"""Gateways send a minute after it ended; it is scored this much later."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command line asked for. `read` reads the configuration anew each time."""

    read: Callable[[], Settings]
    world: bool
    mode_chosen: bool
    speed: float
    seed: int
    as_json: bool
    places: Places | None = None
    """Where a real fleet is described."""


@dataclass(slots=True)
class Running:
    """The parts of a service that a reload or a stop touches."""

    plan: Plan
    fleet: Fleet
    keeper: Keeper
    ticks: TickLoop
    certificates: Certificates
    past: Callable[[], Awaitable[None]]
    part: FleetPart | None = None

    def tasks(self) -> dict[str, Awaitable[None]]:
        """Everything that runs for ever, by name."""
        return {
            "tick": self.tick_for_ever(),
            "early-tick": self.ticks.run_early(),
            "maintain": self.maintain_for_ever(),
            "certificates": self.renew_for_ever(),
            **({name: begin() for name, begin in self.part.tasks.items()} if self.part is not None else {}),
        }

    async def tick_for_ever(self) -> None:
        """The past, a first tick, then one after another."""
        await self.past()
        await self.ticks.tick(self.fleet.clock.now())
        await self.ticks.run()

    async def maintain_for_ever(self) -> None:
        """Keep the database within its retention."""
        while True:
            await asyncio.sleep(MAINTAIN_S)
            try:
                await self.keeper.maintain(self.fleet.clock.now())
            except PrewarmError as error:
                log.warning("the database is not looked after", extra={"why": str(error)})

    async def renew_for_ever(self) -> None:
        """Read certificates that were renewed."""
        while True:
            await asyncio.sleep(CERTIFICATES_S)
            self.reload_certificates()

    def reload(self) -> None:
        """Read the configuration again; a faulty file changes nothing and is told in one line."""
        try:
            settings = self.plan.read()
            check_listen(self.fleet.settings.serve.listen, settings.auth)
        except PrewarmError as error:
            self.fleet.metrics.reloads.labels("refused").inc()
            log.error("configuration not reloaded, the old one stays: %s", error)
            return
        self.fleet.configure(settings)
        if self.part is not None:
            self.part.configure(settings)
        kept = retention(settings, self.plan.world)
        self.keeper.keep_for(decisions_days=kept.decisions_days, audit_days=kept.audit_days)
        self.reload_certificates()
        self.fleet.metrics.reloads.labels("done").inc()
        log.info("configuration reloaded")

    def reload_certificates(self) -> None:
        """Read the certificate's files where they changed."""
        try:
            if self.certificates.reload():
                log.info("certificate read")
        except PrewarmError as error:
            log.error("certificate not read, the old one stays: %s", error)


def run_service(plan: Plan) -> None:
    """Serve until told to stop; PrewarmError in one line where it cannot start."""
    log_to_stderr()
    try:
        from uvloop import new_event_loop as factory
    except ImportError:
        factory = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_serve(plan))


async def _serve(plan: Plan) -> None:
    started, settings = time.perf_counter(), plan.read()
    check_listen(settings.serve.listen, settings.auth)
    certificates = Certificates(settings.auth)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(Store.open(settings.serve.database, retention(settings, plan.world)))
        fits, model = FitPool(1, preload=FIT_PRELOAD), model_pool()
        running = await _compose(plan, settings, store, certificates=certificates, model=model, stack=stack)
        desk = Desk(running.fleet, running.keeper, fits, running.ticks)
        app = build_app(desk, None if running.part is None else running.part.mounted)
        site, url = await listen(app, settings.serve.listen, settings.auth, certificates)
        stack.push_async_callback(site.cleanup)
        stop = _stop_on_signals(running)
        _announce(plan, url)
        told = {"url": url, "database": without_password(settings.serve.database), "simulated": plan.world}
        log.info("serving", extra={**told, "start_s": round(time.perf_counter() - started, 3)})
        await stack.enter_async_context(fits)
        await stack.enter_async_context(model)
        await run_until(stop, running.tasks(), running.ticks.busy)
        await site.cleanup()
    log.info("stopped")


async def _compose(
    plan: Plan,
    settings: Settings,
    store: Store,
    *,
    certificates: Certificates,
    model: FitPool,
    stack: AsyncExitStack,
) -> Running:
    """The fleet with what the store knows of it, and its parts: a world, or whatever is pushed, over real members."""
    if not plan.world:
        await worlds.refuse_world(store)
    scorer = read_scorer(settings.placement)
    start = await worlds.find_start(store, plan.seed) if plan.world else None
    clock: Clock = WallClock() if start is None else start.clock(plan.speed)
    fleet = Fleet(settings, await store.load_history(int(clock.now() // 60)), clock, Metrics())
    keeper = Keeper(fleet, store)
    await keeper.recall(Mode.ACTIVE if plan.world and not plan.mode_chosen else settings.serve.mode)
    oracle = LevelOracle(fleet, model)
    if start is not None:
        world, part = await _simulated(start, fleet, keeper, store)
        part = await put_on(part, scorer, store)
        ticks = TickLoop(
            fleet, Parts((world,), world, oracle, part.applier, 0, part.divider), worlds.recorder(world, keeper)
        )
        past = worlds.past_of(world, fleet, keeper, fresh=start.fresh)
        return Running(plan, fleet, keeper, ticks, certificates, past, part)
    recorded = RecordOnly(fleet)
    past = partial(_recall_pools, recorded, keeper)
    if plan.places is None:
        parts = Parts((), recorded, oracle, recorded, PUSH_LAG_MIN)
        return Running(plan, fleet, keeper, TickLoop(fleet, parts, keeper.keep_tick), certificates, past)
    part = await _real_fleet(plan.places, settings, store, fleet, recorded=recorded, stack=stack)
    part = await put_on(part, scorer, store)
    parts = Parts((), part.platform, oracle, part.applier, PUSH_LAG_MIN, part.divider)
    return Running(plan, fleet, keeper, TickLoop(fleet, parts, keeper.keep_tick), certificates, past, part)


async def _simulated(start: worlds.WorldStart, fleet: Fleet, keeper: Keeper, store: Store) -> tuple[World, FleetPart]:
    """The world and its clusters."""
    from federation.sim.embedded import EmbeddedFleet
    from prewarm.cli.world_fleet import simulated_fleet

    made: list[EmbeddedFleet] = []

    def ground(people: Population) -> EmbeddedFleet:
        made.append(EmbeddedFleet(start.seed, people))
        return made[0]

    world = World(start.seed, start.minute, ground=ground)
    worlds.connect(world, fleet, keeper)
    return world, await simulated_fleet(world, made[0], fleet, store)


async def _real_fleet(
    places: Places, settings: Settings, store: Store, fleet: Fleet, *, recorded: RecordOnly, stack: AsyncExitStack
) -> FleetPart:
    """Loaded only where there is one: a service without a fleet starts without it."""
    from prewarm.cli.fleets import real_fleet

    return await stack.enter_async_context(real_fleet(places, settings, store, fleet, recorded=recorded))


async def _recall_pools(record_only: RecordOnly, keeper: Keeper) -> None:
    """Counts were loaded with the history; pools are as the last decisions left them."""
    record_only.recall(await keeper.latest_counts())


def retention(settings: Settings, world: bool) -> Retention:
    """The ages of the configuration; a simulated world, whose days are minutes, keeps its decisions for a day."""
    told = settings.retention
    return Retention(
        minute_days=told.minute_days,
        five_minute_days=told.five_minute_days,
        hour_days=told.hour_days,
        late_s=told.late_s,
        stale_s=settings.serve.stale_s,
        decisions_days=1 if world else told.decisions_days,
        audit_days=told.audit_days,
    )


def _stop_on_signals(running: Running) -> asyncio.Event:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, running.reload)
    return stop


def _announce(plan: Plan, url: str) -> None:
    """One line on the standard output."""
    if plan.as_json:
        line = orjson.dumps({"url": url, "simulated": plan.world}).decode()
    else:
        line = f"prewarm: {url}" + (f" (simulated world, {plan.speed:g}x real time)" if plan.world else "")
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
