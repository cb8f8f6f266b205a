"""Health, readiness, metrics, and the document that describes them all."""

from __future__ import annotations

from collections.abc import Callable

import orjson
from aiohttp import web

from prewarm.http.auth import Right
from prewarm.http.desk import Desk
from prewarm.http.models import Answer
from prewarm.http.problem import ProblemError
from prewarm.http.routes import JSON_HEADERS, Call, Route
from prewarm.telemetry import METRICS_TYPE

LATE_TICKS = 5


class Health(Answer):
    """A word on how it is."""

    status: str


async def healthz(_: Call[Desk]) -> object:
    """The process answers."""
    return {"status": "ok"}


async def readyz(call: Call[Desk]) -> object:
    """Decisions are being made, on time; 503 otherwise, with the reason."""
    fleet = call.service.fleet
    view = call.service.view()
    late_s = fleet.clock.now() - view.now
    if late_s > LATE_TICKS * fleet.settings.serve.tick_s:
        raise ProblemError(503, f"the last tick was {late_s:.0f} s ago", headers={"Retry-After": "5"})
    if (degraded := call.service.keeper.degraded) is not None:
        raise ProblemError(503, f"degraded: the database takes no writes: {degraded}", headers={"Retry-After": "5"})
    return {"status": "ready", "simulated": fleet.simulated, "now": view.now, "functions": len(view.keys)}


async def metrics(call: Call[Desk]) -> web.Response:
    """Everything that is measured, in Prometheus' text format."""
    text = call.service.fleet.metrics.text()
    return web.Response(body=text, headers={**JSON_HEADERS, "Content-Type": METRICS_TYPE})


def health_routes(describe: Callable[[], object]) -> list[Route[Desk]]:
    """The routes of this subject; `describe` makes the OpenAPI document."""
    written: list[bytes] = []

    async def openapi(_: Call[Desk]) -> bytes:
        if not written:
            written.append(orjson.dumps(describe()))
        return written[0]

    tag, opened = "service", Right.OPEN
    return [
        Route("GET", "/healthz", healthz, "Whether the process answers", right=opened, answer=Health, tag=tag),
        Route("GET", "/readyz", readyz, "Whether decisions are made on time", right=opened, answer=Health, tag=tag),
        Route("GET", "/metrics", metrics, "Prometheus metrics", answer="text/plain", tag=tag),
        Route("GET", "/openapi.json", openapi, "This document", right=opened, tag=tag),
    ]
