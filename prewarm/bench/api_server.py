"""The server of `prewarm bench api`: the real application beside a bare aiohttp handler, on one loop in one process.

It holds two hundred functions of the simulated world with two days of history and one tick behind it, prints both
addresses as one JSON line, and serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import orjson
from aiohttp import web

from prewarm.api import build_app
from prewarm.domain import Mode
from prewarm.forecast.pool import FitPool
from prewarm.history import Retention
from prewarm.http.desk import Desk
from prewarm.loop.clock import WallClock
from prewarm.loop.fleet import Fleet
from prewarm.loop.keeping import Keeper
from prewarm.loop.oracle import LevelOracle
from prewarm.loop.patient import model_pool
from prewarm.loop.record_only import RecordOnly
from prewarm.loop.service import TickLoop
from prewarm.loop.tick import Parts
from prewarm.settings import Settings
from prewarm.sim.world import World
from prewarm.store import Store
from prewarm.telemetry import Metrics

PAST_MIN = 2_880
BARE_BYTES = b'{"function":"bare","steps":[]}'


async def serve_both(folder: Path, seed: int) -> None:
    """Serve until the standard input ends."""
    clock = WallClock()
    world = World(seed, int(clock.now() // 60))
    async with (
        Store.open(f"sqlite:///{folder / 'api.db'}", Retention()) as store,
        FitPool(1, preload=("prewarm.forecast.stateless",)) as fits,
        model_pool() as model,
    ):
        fleet = Fleet(Settings(), await store.load_history(world.done_until - PAST_MIN), clock, Metrics())
        world.tell_past(fleet.history, world.done_until - PAST_MIN, world.done_until)
        keeper = Keeper(fleet, store)
        await keeper.recall(Mode.SHADOW)
        record_only = RecordOnly(fleet)
        parts = Parts((), record_only, LevelOracle(fleet, model), record_only, 0)
        ticks = TickLoop(fleet, parts, keeper.keep_tick)
        await ticks.tick(clock.now())
        addresses = {
            "service": await _start(build_app(Desk(fleet, keeper, fits, ticks))),
            "bare": await _start(bare_app()),
            "functions": list(fleet.keys),
            "started": time.time(),
        }
        sys.stdout.write(orjson.dumps(addresses).decode() + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


def bare_app() -> web.Application:
    """One handler that returns the bytes it is told to: what aiohttp itself costs."""
    app = web.Application()
    body = [BARE_BYTES]

    async def tell(request: web.Request) -> web.Response:
        body[0] = await request.read()
        return web.Response()

    async def bare(_: web.Request) -> web.Response:
        return web.Response(body=body[0], content_type="application/json")

    app.router.add_put("/bare", tell)
    app.router.add_get("/bare", bare)
    return app


async def _start(app: web.Application) -> int:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=256).start()
    return int(runner.addresses[0][1])


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_both(Path(sys.argv[1]), int(sys.argv[2])))
