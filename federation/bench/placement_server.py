"""The server of the HTTP part of `prewarm bench placement-scale`: the real application over the large fleet.

Each request decides on a snapshot in which another cluster's summary has changed, holds the room and writes the
decision to SQLite before it answers. Prints its port and the questions as JSON, and serves until its input ends.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
from aiohttp import web

from federation.api import fleet_routes
from federation.bench.large_fleet import LargeFleet, large_fleet
from federation.desk.desk import FleetDesk
from federation.desk.outlook import Outlooks
from federation.desk.records import Records, Said
from federation.placement.placer import Placer
from federation.placement.workload import Workload
from federation.snapshot import Cluster, Snapshot
from prewarm.api import Mounted, build_app
from prewarm.domain import Mode
from prewarm.forecast.pool import FitPool
from prewarm.history import Retention
from prewarm.http.desk import Desk
from prewarm.loop.clock import WallClock
from prewarm.loop.fleet import Fleet
from prewarm.loop.keeping import Keeper
from prewarm.loop.oracle import LevelOracle
from prewarm.loop.record_only import RecordOnly
from prewarm.loop.service import TickLoop
from prewarm.loop.tick import Parts
from prewarm.settings import Link, Settings
from prewarm.store import Store
from prewarm.telemetry import Metrics

CHANGES = 200
QUESTIONS = 400


class ChangingView:
    """Shows the fleet with one more cluster replaced each time; the summaries were made beforehand."""

    def __init__(self, world: LargeFleet, now: float) -> None:
        self._snapshot = world.snapshot
        self._made: list[tuple[int, Cluster]] = []
        for _ in range(CHANGES):
            before, after = world.snapshot.clusters, world.change(now).clusters
            at = next(at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old is not new)
            self._made.append((at, after[at]))
        self._turn = 0

    def snapshot(self, now: float) -> Snapshot:
        """The next state."""
        at, changed = self._made[self._turn % CHANGES]
        self._turn += 1
        clusters = list(self._snapshot.clusters)
        clusters[at] = replace(changed)
        self._snapshot = replace(self._snapshot, at=now, clusters=tuple(clusters))
        return self._snapshot

    def told(self, said: Mapping[str, Said], links: tuple[Link, ...] | None) -> None:
        """Nobody says anything here."""

    async def watch(self, kinds: frozenset[str], limit_s: float) -> None:
        """Summaries hold no names."""


async def serve(data_dir: Path, folder: Path, seed: int) -> None:
    """Serve until the standard input ends."""
    clock = WallClock()
    world = large_fleet(data_dir, np.random.default_rng(seed), now=clock.now())
    view = ChangingView(world, clock.now())
    async with Store.open(f"sqlite:///{folder / 'placement.db'}", Retention()) as store, FitPool(1) as fits:
        fleet = Fleet(Settings(), await store.load_history(int(clock.now() // 60)), clock, Metrics())
        keeper = Keeper(fleet, store)
        await keeper.recall(Mode.ACTIVE)
        recorded = RecordOnly(fleet)
        ticks = TickLoop(fleet, Parts((), recorded, LevelOracle(fleet, fits), recorded, 0), keeper.keep_tick)
        desk = FleetDesk(fleet, view, Records(store), Placer(view.snapshot(clock.now())))
        outlooks = asyncio.create_task(Outlooks(desk).run())
        app = build_app(Desk(fleet, keeper, fits, ticks), Mounted(fleet_routes(), desk))
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        questions = [question(world.workload(number)) for number in range(QUESTIONS)]
        told = {"port": runner.addresses[0][1], "questions": questions}
        sys.stdout.write(orjson.dumps(told).decode() + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        outlooks.cancel()
        await asyncio.gather(outlooks, return_exceptions=True)
        await runner.cleanup()


def question(workload: Workload) -> dict[str, object]:
    """A workload as `POST /v1/placements` takes it."""
    form: dict[str, object] = {
        "key": workload.key,
        "replicas": workload.replicas,
        "requests": {name: f"{value}m" if name == "cpu" else value for name, value in workload.requests.items()},
        "affinity": {"regions": list(workload.affinity.regions)},
        "spread": {"min_clusters": workload.spread.min_clusters},
        "callers": [{"region": one.region, "calls_per_s": one.calls_per_s} for one in workload.callers],
    }
    if workload.gpu.count or workload.gpu.milli:
        form["gpu"] = {"count": workload.gpu.count, "milli": 0 if workload.gpu.count else workload.gpu.milli}
    return {"workload": form, "dry_run": False}


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loops:
        loops.run(serve(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
