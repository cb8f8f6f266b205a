"""The learned scorer: what it is, what it may do, what it did, and why the rule decided where it did."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from federation.desk.desk import FleetDesk
from federation.desk.learned import Allowed
from prewarm.http.auth import Right
from prewarm.http.models import Answer, Strict
from prewarm.http.problem import ProblemError
from prewarm.http.routes import Call, Route
from prewarm.http.words import Label, Namespace, Share, Time
from prewarm.settings import ScorerMode
from prewarm.store.people import Stamp


class AllowedIn(Strict):
    """How far it may go: `promote` lets the comparison with the rule decide, up to a share of the workloads."""

    mode: ScorerMode
    share: Share = 1.0
    namespaces: Annotated[dict[Namespace, Share], Field(max_length=1_000)] = {}  # noqa: RUF012  pydantic copies it
    owner: Label
    reason: Annotated[str, Field(min_length=1, max_length=1_000)]


class AllowedOut(Answer):
    """How far it may go."""

    mode: ScorerMode
    share: float
    namespaces: dict[str, float]


class Comparison(Answer):
    """Mean paired difference from the rule, relative to the cost, above 0 where the learned answer is cheaper."""

    mean: float
    low: float
    high: float
    pairs: int


class NamespaceRow(Answer):
    """Where a namespace is. share: of its workloads, decided by the learned scorer now."""

    namespace: str
    share: float
    allowed: float
    streak: int
    windows: int
    since: Time | None
    why: str
    last: Comparison | None
    open_pairs: int


class GuardOut(Answer):
    """level: 1 and above is an alarm; outstanding: what is farthest from the usual, alarm or not; false_alarms: by run,
    as calibrated.
    """

    state: Literal["none", "calm", "alarm"]
    since: Time | None
    why: str | None
    level: float | None
    outstanding: str | None
    false_alarms: float | None


class Counts(Answer):
    """Decisions since the start by what became of the learned answer; declined: by reason."""

    used: int
    shadowed: int
    declined: dict[str, int]


class Change(Answer):
    """A share that went up or down."""

    at: Time
    namespace: str
    before: float
    after: float
    why: str


class ScorerAnswer(Answer):
    """`name` is null where no scorer is installed, and then the rule decides everything."""

    name: str | None
    version: str | None
    form: str | None
    allowed: AllowedOut
    deadline_ms: float | None
    took_ms: dict[str, float]
    guard: GuardOut
    decisions: Counts
    namespaces: list[NamespaceRow]
    changes: list[Change]


_NOTHING: dict[str, object] = {
    "name": None,
    "version": None,
    "form": None,
    "allowed": {"mode": "off", "share": 0.0, "namespaces": {}},
    "deadline_ms": None,
    "took_ms": {},
    "guard": {"state": "none", "since": None, "why": None, "level": None, "outstanding": None, "false_alarms": None},
    "decisions": {"used": 0, "shadowed": 0, "declined": {}},
    "namespaces": [],
    "changes": [],
}


async def read_scorer(call: Call[FleetDesk]) -> object:
    """Its state."""
    scorer = call.service.scorer
    return _NOTHING if scorer is None else scorer.told()


async def write_scorer(call: Call[FleetDesk]) -> object:
    """Set how far it may go, from the next decision on."""
    given: AllowedIn = call.body
    desk = call.service
    if desk.scorer is None:
        raise ProblemError(409, "no learned scorer is installed; set placement.scorer and start again")
    allowed = Allowed(given.mode, given.share, dict(given.namespaces))
    await desk.scorer.allow(allowed, Stamp(f"{given.owner}: {given.reason}", desk.now()))
    return desk.scorer.told()


def scorer_routes() -> list[Route[FleetDesk]]:
    """The routes of this subject."""
    return [
        Route("GET", "/v1/scorer", read_scorer, "The learned scorer", answer=ScorerAnswer, tag="fleet"),
        Route(
            "PUT",
            "/v1/scorer",
            write_scorer,
            "How far the learned scorer may go",
            right=Right.WRITE,
            body=AllowedIn,
            answer=ScorerAnswer,
            tag="fleet",
        ),
    ]
