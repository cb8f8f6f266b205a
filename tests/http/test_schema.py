"""The whole API, the simulated fleet's with it, under schemathesis: no 5xx, and every answer as documented."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from aiohttp import web
from hypothesis import HealthCheck, Phase, settings
from openapi_spec_validator import validate
from schemathesis.checks import CHECKS

from federation.api import fleet_routes
from federation.sim.embedded import EmbeddedFleet
from prewarm.api import all_routes, build_app, describe
from prewarm.cli.fleet_part import FleetPart
from prewarm.cli.world_fleet import simulated_fleet
from prewarm.domain import Mode
from prewarm.http.desk import Desk
from prewarm.sim.world import World
from prewarm.sim.world_calls import Population
from prewarm.store import Store
from tests.service import running_parts

DOCUMENT = describe([*all_routes(), *fleet_routes()])
CHECKERS: list[Any] = list(CHECKS.get_all())
# A schema cannot say that an expiry lies in the future, that a zone exists or that max is at least min.
# Nor that exactly one of workload and manifest is given, and what a manifest must hold.
UNSAID = {
    "/v1/invocations",
    "/v1/forecasts",
    "/v1/overrides/{target}",
    "/v1/functions/{key}/policy",
    "/v1/placements",
}
PLAIN: list[Any] = [check for check in CHECKERS if check.__name__ != "positive_data_acceptance"]
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)


async def simulated(desk: Desk, store: Store, minute: int) -> FleetPart:
    """The three clusters of the embedded world, where placements may be made, and one function has a place."""
    made: list[EmbeddedFleet] = []

    def ground(people: Population) -> EmbeddedFleet:
        made.append(EmbeddedFleet(7, people))
        return made[0]

    world = World(7, minute, ground=ground)
    world.begin()
    desk.fleet.told = replace(desk.fleet.told, modes=replace(desk.fleet.told.modes, default=Mode.ACTIVE))
    return await simulated_fleet(world, made[0], desk.fleet, store)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with one function and a tick behind it, in a thread of its own."""
    folder: Path = tmp_path_factory.mktemp("schema")
    ready, stop, found = threading.Event(), asyncio.Event(), list[str]()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with running_parts(folder) as (desk, clock, store):
            desk.fleet.history.index("shop/checkout")
            await desk.ticks.tick(clock.now())
            part = await simulated(desk, store, int(clock.now() // 60))
            runner = web.AppRunner(build_app(desk, part.mounted), access_log=None)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            found.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
            ready.set()
            await stop.wait()
            await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    yield found[0]
    loops[0].call_soon_threadsafe(stop.set)
    thread.join(20)


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"] == "3.1.0"


@SCHEMA.parametrize()
@settings(
    max_examples=7,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_documented(case: schemathesis.Case[Any], address: str) -> None:
    checks = PLAIN if case.path in UNSAID and case.body else CHECKERS
    answer = case.call_and_validate(base_url=address, checks=checks)
    assert answer.status_code < 500
