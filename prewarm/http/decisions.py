"""Decisions that changed something or were held, newest first, and one of them with its explanation."""

from __future__ import annotations

import re

from prewarm.domain import FunctionKey, decision_id
from prewarm.http.desk import Desk
from prewarm.http.models import DecisionAnswer, DecisionList
from prewarm.http.parameters import ID_PARAMETER
from prewarm.http.problem import ProblemError
from prewarm.http.queries import DecisionQuery
from prewarm.http.routes import Call, Route
from prewarm.http.shapes import decision_json
from prewarm.http.words import ID_PATTERN
from prewarm.loop.fleet import STEP_S

_ID = re.compile(ID_PATTERN)


async def list_decisions(call: Call[Desk]) -> object:
    """Decisions on all functions or one, newest first."""
    query: DecisionQuery = call.query
    function = None if query.function is None else FunctionKey(query.function)
    made, following = await call.service.keeper.decisions(function, query.limit, query.cursor)
    return {"decisions": [decision_json(one, STEP_S) for one in made], "next": following}


async def read_decision(call: Call[Desk]) -> object:
    """One decision; those of the last tick are there even where they changed nothing."""
    wanted = call.path("id")
    view = call.service.fleet.view
    if view is not None and wanted[:10] == decision_id(view.now, "")[:10]:
        for row, key in enumerate(view.keys):
            if decision_id(view.now, key) == wanted:
                return decision_json(view.decision(row), STEP_S)
    found = await call.service.keeper.decision(wanted) if _ID.fullmatch(wanted) else None
    if found is None:
        raise ProblemError(404, f"there is no decision {wanted[:40]!r}; those that changed nothing are not kept")
    return decision_json(found, STEP_S)


def decision_routes() -> list[Route[Desk]]:
    """The routes of this subject."""
    return [
        Route(
            "GET",
            "/v1/decisions",
            list_decisions,
            "Decisions that changed something or were held, newest first",
            query=DecisionQuery,
            answer=DecisionList,
            tag="decisions",
        ),
        Route(
            "GET",
            "/v1/decisions/{id}",
            read_decision,
            "One decision with its explanation",
            answer=DecisionAnswer,
            tag="decisions",
            parameters=ID_PARAMETER,
        ),
    ]
