"""What is known of the functions: the list, one function's minutes, its policy, and the page's overview."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from typing import Any

import numpy as np

from prewarm import __version__
from prewarm.control import DATA_STATES
from prewarm.domain import FunctionKey, InputError, function_key, rum
from prewarm.http.auth import Right
from prewarm.http.desk import Desk
from prewarm.http.models import DecisionAnswer, FunctionList, PolicyAnswer, PolicyIn
from prewarm.http.parameters import KEY_PARAMETER
from prewarm.http.problem import ProblemError
from prewarm.http.queries import Cursor, FunctionQuery, HistoryQuery
from prewarm.http.routes import Call, Route
from prewarm.http.shapes import decision_json, fleet_minutes_json, function_json, function_minutes_json
from prewarm.loop.fleet import STEP_S
from prewarm.settings import FunctionPolicy
from prewarm.settings_file import check_policy, validate

Json = dict[str, object]


async def list_functions(call: Call[Desk]) -> object:
    """Functions by key, a page at a time."""
    query: FunctionQuery = call.query
    desk = call.service
    keys = desk.sorted_keys()
    if query.search:
        wanted = query.search.lower()
        keys = [key for key in keys if wanted in key.lower()]
    page, following = page_of(keys, query)
    return {"functions": [_row_json(desk, key) for key in page], "next": following}


def page_of(keys: list[FunctionKey], query: Cursor) -> tuple[list[FunctionKey], str | None]:
    """The keys after the cursor, and the cursor after them (None at the end)."""
    first = bisect_right(keys, FunctionKey(query.cursor)) if query.cursor else 0
    page = keys[first : first + query.limit]
    return page, page[-1] if first + query.limit < len(keys) else None


def _row_json(desk: Desk, key: FunctionKey) -> Json:
    view, row = desk.fleet.view, desk.fleet.rows[key]
    if view is not None and row < len(view.keys):
        return function_json(desk.fleet, view, row)
    # Seen since the last tick: nothing was decided about it yet.
    state, age = desk.fleet.history.data_state(desk.fleet.clock.now())
    return {
        "key": key,
        "warm": 0,
        "needed": 0,
        "data": DATA_STATES[int(state[row])],
        "data_age_s": float(age[row]) if np.isfinite(age[row]) else None,
        "last_call": None,
        "model": "none",
        "mode": desk.fleet.told.modes.of(key),
        "override": None,
    }


async def read_history(call: Call[Desk]) -> object:
    """What was needed, forecast and kept warm in the last minutes."""
    query: HistoryQuery = call.query
    desk, key = call.service, call.path("key")
    row, track = desk.row(key), call.service.fleet.track
    last = int((desk.fleet.view.now if desk.fleet.view else desk.fleet.clock.now()) // 60)
    minutes = track.minutes(last, query.minutes) if row < track.n else np.zeros(0, np.int64)
    return {"function": key, "step_s": STEP_S, "minutes": function_minutes_json(desk.fleet, row, minutes)}


async def read_decision(call: Call[Desk]) -> object:
    """The decision of the last tick on one function, changed or not."""
    desk = call.service
    row, view = desk.row(call.path("key")), desk.view()
    if row >= len(view.keys):
        raise ProblemError(503, "nothing was decided about this function yet", headers={"Retry-After": "2"})
    return decision_json(view.decision(row), STEP_S)


async def overview(call: Call[Desk]) -> object:
    """Everything that the page's upper half shows."""
    query: HistoryQuery = call.query
    fleet, view = call.service.fleet, call.service.view()
    tick, score = view.decisions, fleet.track.score
    minutes = fleet.track.fleet[-query.minutes :]
    return {
        "service": {
            "simulated": fleet.simulated,
            "now": view.now,
            "speed": fleet.clock.speed,
            "tick_s": fleet.settings.serve.tick_s,
            "version": __version__,
            "mode": view.modes.default,
            "policy": {**dataclasses.asdict(tick.tag), "model": view.model},
        },
        "totals": {
            "functions": len(view.keys),
            "warm": int(tick.to_count.sum()),
            "needed": minutes[-1].need if minutes and minutes[-1].known else None,
            "held": int(tick.held.sum()),
            "data": view.data_counts(),
            "since": fleet.track.fleet[0].minute * 60 if fleet.track.fleet else view.now,
            "cold": int(score.cold.sum()),
            "cold_ka10": int(score.cold_ka10.sum()),
            "waste_gb_s": round(float(score.waste_gb_s.sum()), 1),
            "waste_ka10_gb_s": round(float(score.waste_ka10_gb_s.sum()), 1),
            "rum": round(rum(score.cold.sum(), score.waste_gb_s.sum()), 1),
            "rum_ka10": round(rum(score.cold_ka10.sum(), score.waste_ka10_gb_s.sum()), 1),
        },
        "minutes": fleet_minutes_json(minutes),
    }


async def read_policy(call: Call[Desk]) -> object:
    """How one function is sized, and whether that was set here or comes from the configuration."""
    desk, key = call.service, FunctionKey(call.path("key"))
    desk.row(key)
    return policy_json(desk, key)


async def write_policy(call: Call[Desk]) -> object:
    """Set how one function is sized; what is left out takes its default. The function need not be known yet."""
    desk, key = call.service, function_key(call.path("key"), "key")
    given: PolicyIn = call.body
    told = {**given.model_dump(exclude_unset=True, exclude={"key"}), "key": key}
    if given.key not in (None, key):
        raise ProblemError(400, f"key: must be that of the path, is {given.key!r}")
    try:
        policy = validate(FunctionPolicy, told, "policy")
        check_policy(policy, "policy")
    except InputError as error:
        raise ProblemError(400, str(error).removeprefix("policy").lstrip(":. ")) from None
    await desk.keeper.put_policy(key, policy, now=desk.fleet.clock.now())
    return policy_json(desk, key)


def policy_json(desk: Desk, key: FunctionKey) -> Json:
    """The policy in force for `key`."""
    policy: dict[str, Any] = dataclasses.asdict(desk.fleet.policy_of(key))
    return {**policy, "key": key, "source": "api" if key in desk.fleet.told.policies else "configuration"}


def function_routes() -> list[Route[Desk]]:
    """The routes of this subject."""
    return [
        Route("GET", "/v1/functions", list_functions, "Functions by key", query=FunctionQuery, answer=FunctionList),
        Route(
            "GET",
            "/v1/functions/{key}/history",
            read_history,
            "Needed, forecast and warm in the last minutes",
            query=HistoryQuery,
            parameters=KEY_PARAMETER,
        ),
        Route(
            "GET",
            "/v1/functions/{key}/decision",
            read_decision,
            "The last tick's decision on this function",
            answer=DecisionAnswer,
            parameters=KEY_PARAMETER,
        ),
        Route(
            "GET",
            "/v1/functions/{key}/policy",
            read_policy,
            "How this function is sized",
            answer=PolicyAnswer,
            parameters=KEY_PARAMETER,
        ),
        Route(
            "PUT",
            "/v1/functions/{key}/policy",
            write_policy,
            "Set how this function is sized",
            right=Right.WRITE,
            body=PolicyIn,
            answer=PolicyAnswer,
            parameters=KEY_PARAMETER,
        ),
        Route("GET", "/v1/overview", overview, "The fleet's figures and minutes", query=HistoryQuery),
    ]
