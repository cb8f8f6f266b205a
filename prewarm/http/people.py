"""What people say: overrides with their audit, the mode, the service graph."""

from __future__ import annotations

import re
from dataclasses import asdict

from prewarm.domain import Action, FunctionKey, Override, function_key, parse_time
from prewarm.http.auth import Right
from prewarm.http.desk import Desk
from prewarm.http.models import AuditList, CallIn, Graph, Modes, OverrideAnswer, OverrideIn, OverrideList
from prewarm.http.parameters import TARGET_PARAMETER
from prewarm.http.problem import ProblemError
from prewarm.http.queries import AuditQuery, Cursor
from prewarm.http.routes import Call, Route
from prewarm.http.shapes import override_json
from prewarm.loop.fleet import OverrideKey
from prewarm.loop.view import ModeTable
from prewarm.settings import Call as GraphCall

_CLUSTER = re.compile(r"[^\s/%\x00-\x1f\x7f]{1,253}")
COUNTED = (Action.PIN, Action.FLOOR, Action.CEILING)


def target(desk: Desk, text: str) -> OverrideKey:
    """`KEY` or `KEY@CLUSTER`; a key that itself holds an @ is taken whole where it is known."""
    if FunctionKey(text) in desk.fleet.rows or "@" not in text:
        return function_key(text, "key"), None
    key, _, cluster = text.rpartition("@")
    if not _CLUSTER.fullmatch(cluster):
        raise ProblemError(400, f"cluster: must be 1 to 253 characters without spaces, is {cluster[:80]!r}")
    return function_key(key, "key"), cluster


async def list_overrides(call: Call[Desk]) -> object:
    """The overrides that hold now, by function."""
    query: Cursor = call.query
    desk = call.service
    held = {_name(one): one for one in desk.fleet.active_overrides(desk.fleet.clock.now())}
    names = [name for name in sorted(held) if query.cursor is None or name > query.cursor]
    page = names[: query.limit]
    following = page[-1] if len(names) > query.limit else None
    return {"overrides": [override_json(held[name]) for name in page], "next": following}


async def read_override(call: Call[Desk]) -> object:
    """One override, while it holds."""
    return override_json(_held(call))


async def put_override(call: Call[Desk]) -> object:
    """Set or replace an override; it holds from the next tick on."""
    given: OverrideIn = call.body
    desk, now = call.service, call.service.fleet.clock.now()
    key, cluster = target(desk, call.path("target"))
    if given.action in COUNTED and given.value is None:
        raise ProblemError(400, f"value: is required for {given.action}")
    if given.action not in COUNTED and given.value is not None:
        raise ProblemError(400, f"value: has no meaning for {given.action}, leave it out")
    expires_at = None if given.expires_at is None else parse_time(given.expires_at, "expires_at")
    if expires_at is not None and expires_at <= now:
        raise ProblemError(400, f"expires_at: must be in the future, is {given.expires_at}")
    override = Override(key, cluster, given.action, given.value, given.owner, given.reason, now, expires_at)
    await desk.keeper.put_override(override, now=now)
    return override_json(override)


async def end_override(call: Call[Desk]) -> object:
    """End an override; it stays in the audit."""
    override = _held(call)
    await call.service.keeper.end_override(override, now=call.service.fleet.clock.now())
    return override_json(override)


async def list_audit(call: Call[Desk]) -> object:
    """Changes by people, newest first."""
    query: AuditQuery = call.query
    entries, following = await call.service.keeper.audit(query.limit, query.cursor)
    return {"audit": entries, "next": following}


async def read_modes(call: Call[Desk]) -> object:
    """What the service may do."""
    return call.service.fleet.told.modes.to_json()


async def write_modes(call: Call[Desk]) -> object:
    """Set what the service may do, from the next tick on."""
    given: Modes = call.body
    desk = call.service
    table = ModeTable(given.default, dict(given.namespaces), dict(given.learned_share))
    await desk.keeper.put_modes(table, now=desk.fleet.clock.now())
    return table.to_json()


async def read_graph(call: Call[Desk]) -> object:
    """Who calls whom."""
    return {"calls": [asdict(edge) for edge in call.service.fleet.calls]}


async def write_graph(call: Call[Desk]) -> object:
    """Set who calls whom; it replaces what the configuration says."""
    given: Graph = call.body
    desk = call.service
    calls = tuple(_edge(edge) for edge in given.calls)
    await desk.keeper.put_graph(calls, now=desk.fleet.clock.now())
    return {"calls": [asdict(edge) for edge in calls]}


def _edge(given: CallIn) -> GraphCall:
    return GraphCall(given.caller, given.callee, given.calls_per_invocation, given.delay_s, given.payload_kib)


def _held(call: Call[Desk]) -> Override:
    desk = call.service
    wanted = target(desk, call.path("target"))
    for override in desk.fleet.active_overrides(desk.fleet.clock.now()):
        if (override.function, override.cluster) == wanted:
            return override
    raise ProblemError(404, f"there is no override on {call.path('target')[:80]!r}")


def _name(override: Override) -> str:
    return override.function if override.cluster is None else f"{override.function}@{override.cluster}"


def people_routes() -> list[Route[Desk]]:
    """The routes of this subject."""
    path, write = "/v1/overrides/{target}", Right.WRITE
    return [
        Route(
            "GET",
            "/v1/overrides",
            list_overrides,
            "Overrides that hold",
            query=Cursor,
            answer=OverrideList,
            tag="people",
        ),
        Route(
            "GET", path, read_override, "One override", answer=OverrideAnswer, tag="people", parameters=TARGET_PARAMETER
        ),
        Route(
            "PUT",
            path,
            put_override,
            "Set an override",
            right=write,
            body=OverrideIn,
            answer=OverrideAnswer,
            tag="people",
            parameters=TARGET_PARAMETER,
        ),
        Route(
            "DELETE",
            path,
            end_override,
            "End an override",
            right=write,
            answer=OverrideAnswer,
            tag="people",
            parameters=TARGET_PARAMETER,
        ),
        Route("GET", "/v1/audit", list_audit, "Changes by people", query=AuditQuery, answer=AuditList, tag="people"),
        Route("GET", "/v1/mode", read_modes, "What the service may do", answer=Modes, tag="people"),
        Route(
            "PUT", "/v1/mode", write_modes, "Set what it may do", right=write, body=Modes, answer=Modes, tag="people"
        ),
        Route("GET", "/v1/graph", read_graph, "Who calls whom", answer=Graph, tag="people"),
        Route("PUT", "/v1/graph", write_graph, "Set the graph", right=write, body=Graph, answer=Graph, tag="people"),
    ]
