"""How a member answers, judged from its last calls by a pure function.

One lost call is an accident and two are a member that is gone; an answer of 500 and more may be the fault of an
aggregated API behind it, so it takes four of those. `refused` is a member that answers, and says no to us. The age of
what we know is always told by our own clock; a clock that is off at the member is noticed and reported, nothing more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median
from typing import NamedTuple

from federation.snapshot import MemberState

UNHEARD = "has not answered yet"
"""Why of a member that was asked and has had no time to answer or to fail."""
JUDGED = 8
"""Calls that are looked back on."""
GONE_WEIGHT = 4
SKEW_WARN_S = 5.0


class Kind(StrEnum):
    """How a call ended: an answer, no right to this one, no right at all, an error of the server, or nothing."""

    OK = "ok"
    FORBIDDEN = "forbidden"
    REFUSED = "refused"
    FAILING = "failing"
    SILENT = "silent"


_WEIGHT = {Kind.SILENT: 2, Kind.FAILING: 1}


class Outcome(NamedTuple):
    """The end of one call; `text` says what went wrong."""

    at: float
    kind: Kind
    latency_s: float = 0.0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """State, since when, and why where it is not ready. skew_s: member's clock minus ours, None unknown."""

    state: MemberState
    since: float
    why: str | None = None
    answered_at: float | None = None
    skew_s: float | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The warning about the member's clock, where it is off."""
        if self.skew_s is None or abs(self.skew_s) <= SKEW_WARN_S:
            return ()
        return (f"its clock is {abs(self.skew_s):.0f} s {'ahead' if self.skew_s > 0 else 'behind'}",)


def judge(
    outcomes: Sequence[Outcome],
    before: Health,
    *,
    slow_s: float,
    answered_at: float | None = None,
    skew_s: float | None = None,
) -> Health:
    """The health after `outcomes` (oldest first); `since` moves only when the state does."""
    recent = outcomes[-JUDGED:]
    state, why = _state(recent, slow_s)
    since = before.since if state is before.state or not recent else recent[-1].at
    return Health(state, since, why, answered_at, skew_s)


def _state(recent: Sequence[Outcome], slow_s: float) -> tuple[MemberState, str | None]:
    if not recent:
        return MemberState.DARK, UNHEARD
    if recent[-1].kind is Kind.REFUSED:
        return MemberState.REFUSED, recent[-1].text
    lost = _lost_at_the_end(recent)
    if sum(_WEIGHT[outcome.kind] for outcome in lost) >= GONE_WEIGHT or len(lost) == len(recent):
        return MemberState.DARK, lost[0].text
    if all(outcome.kind is Kind.FORBIDDEN for outcome in recent):
        return MemberState.REFUSED, recent[-1].text
    if any(outcome.kind is Kind.SILENT for outcome in lost):
        return MemberState.SLOW, lost[0].text
    return _by_latency([outcome.latency_s for outcome in recent if outcome.kind not in _WEIGHT], slow_s)


def _lost_at_the_end(recent: Sequence[Outcome]) -> list[Outcome]:
    """Newest first, up to the last call that was answered."""
    lost: list[Outcome] = []
    for outcome in reversed(recent):
        if outcome.kind not in _WEIGHT:
            break
        lost.append(outcome)
    return lost


def _by_latency(latencies_s: list[float], slow_s: float) -> tuple[MemberState, str | None]:
    usual_s = median(latencies_s)
    if usual_s > slow_s:
        return MemberState.SLOW, f"answers take {usual_s:.1f} s"
    return MemberState.READY, None


class Journal:
    """The last calls to one member and what they add up to."""

    def __init__(self, since: float, slow_s: float) -> None:
        self._outcomes: deque[Outcome] = deque(maxlen=JUDGED)
        self._slow_s = slow_s
        self.health = Health(MemberState.DARK, since, UNHEARD)

    def note(self, outcome: Outcome, skew_s: float | None = None) -> None:
        """One more call; `skew_s` where the answer told the member's time."""
        self._outcomes.append(outcome)
        answered_at = self.health.answered_at if outcome.kind is Kind.SILENT else outcome.at
        self.health = judge(
            tuple(self._outcomes),
            self.health,
            slow_s=self._slow_s,
            answered_at=answered_at,
            skew_s=self.health.skew_s if skew_s is None else skew_s,
        )

    def heard(self, at: float) -> None:
        """Something came on a watch."""
        self.health = replace(self.health, answered_at=at)
