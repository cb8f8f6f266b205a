"""`POST /v1/invocations`: counts from gateways, once per (source, sequence), kept before they are acknowledged."""

from __future__ import annotations

from prewarm.collect.push import ClockDoubtError, Event
from prewarm.domain import FunctionKey, parse_time
from prewarm.http.auth import Right
from prewarm.http.desk import Desk
from prewarm.http.models import Accepted, InvocationBatch
from prewarm.http.problem import ProblemError
from prewarm.http.routes import Call, Route


async def push(call: Call[Desk]) -> object:
    """Take a batch; the same pair again changes nothing and gets the same answer."""
    batch: InvocationBatch = call.body
    desk = call.service
    events = _events(batch, desk)
    before = len(desk.fleet.history)
    try:
        answer = await desk.keeper.take(batch.source, batch.sequence, events)
    except ClockDoubtError as error:
        raise ProblemError(503, str(error), headers={"Retry-After": "60"}) from None
    desk.fleet.metrics.events.labels("accepted").inc(answer["accepted"])
    desk.fleet.metrics.events.labels("rejected").inc(len(answer["rejected"]))
    if len(desk.fleet.history) > before:
        desk.ticks.wake.set()
    return answer


def _events(batch: InvocationBatch, desk: Desk) -> list[Event]:
    return [
        Event(
            FunctionKey(event.function),
            desk.fleet.clock.of_wall(parse_time(event.at, f"events[{index}].at")),
            event.window_s,
            event.count,
            event.concurrency_mean,
            event.duration_ms_mean,
        )
        for index, event in enumerate(batch.events)
    ]


def _spaces(call: Call[Desk]) -> set[str]:
    """The namespaces that a batch speaks of."""
    batch: InvocationBatch = call.body
    return {event.function.partition("/")[0] for event in batch.events}


def invocation_routes() -> list[Route[Desk]]:
    """The routes of this subject."""
    return [
        Route(
            "POST",
            "/v1/invocations",
            push,
            "Tell of calls; idempotent per (source, sequence)",
            right=Right.WRITE,
            body=InvocationBatch,
            answer=Accepted,
            status=202,
            tag="invocations",
            spaces=_spaces,
        )
    ]
