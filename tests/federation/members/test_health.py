"""From the last calls to a state with its reason, and since when."""

from __future__ import annotations

import pytest

from federation.members.health import JUDGED, Health, Journal, Kind, Outcome, judge
from federation.snapshot import MemberState

OK = Outcome(0.0, Kind.OK, 0.02)
SLOW = Outcome(0.0, Kind.OK, 1.4)
SILENT = Outcome(0.0, Kind.SILENT, text="no answer within 3 s")
FAILING = Outcome(0.0, Kind.FAILING, 0.02, "answers 503")
FORBIDDEN = Outcome(0.0, Kind.FORBIDDEN, 0.02, "answers 403")
REFUSED = Outcome(0.0, Kind.REFUSED, 0.02, "answers 401")
NEW = Health(MemberState.DARK, 5.0, "has not answered yet")

CASES = {
    "nothing yet": ([], MemberState.DARK, "has not answered yet"),
    "one answer": ([OK], MemberState.READY, None),
    "never an answer": ([SILENT], MemberState.DARK, "no answer within 3 s"),
    "one lost call is an accident": ([OK, OK, SILENT], MemberState.SLOW, "no answer within 3 s"),
    "two are a member that is gone": ([OK, OK, SILENT, SILENT], MemberState.DARK, "no answer within 3 s"),
    "back": ([OK, SILENT, SILENT, SILENT, OK], MemberState.READY, None),
    "an aggregated API that fails is not the member": ([OK, FAILING, OK, FAILING], MemberState.READY, None),
    "everything answered 503 by a balancer": ([OK, *[FAILING] * 4], MemberState.DARK, "answers 503"),
    "a lost call and two errors": ([OK, FAILING, SILENT, FAILING], MemberState.DARK, "answers 503"),
    "slow": ([SLOW] * 3, MemberState.SLOW, "answers take 1.4 s"),
    "one slow answer among quick ones": ([OK, OK, SLOW], MemberState.READY, None),
    "bad credentials": ([OK, REFUSED], MemberState.REFUSED, "answers 401"),
    "good credentials again": ([REFUSED, OK], MemberState.READY, None),
    "one thing may not be read": ([OK, FORBIDDEN, OK, FORBIDDEN], MemberState.READY, None),
    "nothing may be read": ([FORBIDDEN] * 3, MemberState.REFUSED, "answers 403"),
    "lost while refused": ([REFUSED, SILENT, SILENT], MemberState.DARK, "no answer within 3 s"),
    "old trouble is forgotten": ([SILENT] * 4 + [OK] * JUDGED, MemberState.READY, None),
}


@pytest.mark.parametrize(("outcomes", "state", "why"), CASES.values(), ids=CASES)
def test_the_last_calls_are_judged(outcomes: list[Outcome], state: MemberState, why: str | None) -> None:
    health = judge(outcomes, NEW, slow_s=1.0)
    assert (health.state, health.why) == (state, why)


def test_since_moves_only_with_the_state() -> None:
    journal = Journal(5.0, slow_s=1.0)
    assert journal.health.since == 5.0
    story = [
        (10.0, OK, 10.0),
        (20.0, OK, 10.0),
        (30.0, SILENT, 30.0),
        (40.0, SILENT, 40.0),
        (50.0, SILENT, 40.0),
    ]
    for at, outcome, since in story:
        journal.note(outcome._replace(at=at))
        assert journal.health.since == since


def test_the_age_of_an_answer_is_told_by_our_clock_and_silence_does_not_renew_it() -> None:
    journal = Journal(5.0, slow_s=1.0)
    answered: list[float | None] = []
    for outcome in (None, OK._replace(at=10.0), SILENT._replace(at=20.0)):
        if outcome is not None:
            journal.note(outcome)
        answered.append(journal.health.answered_at)
    journal.heard(25.0)
    assert [*answered, journal.health.answered_at] == [None, 10.0, 10.0, 25.0]
    assert journal.health.state is MemberState.SLOW


@pytest.mark.parametrize(
    ("skew_s", "notes"),
    [
        (None, ()),
        (4.0, ()),
        (-5.0, ()),
        (40.2, ("its clock is 40 s ahead",)),
        (-3600.0, ("its clock is 3600 s behind",)),
    ],
)
def test_a_clock_that_is_off_is_a_note_and_no_state(skew_s: float | None, notes: tuple[str, ...]) -> None:
    health = judge([OK], NEW, slow_s=1.0, skew_s=skew_s)
    assert health.notes == notes
    assert health.state is MemberState.READY


def test_the_last_told_time_is_kept_while_nothing_else_is_told() -> None:
    journal = Journal(0.0, slow_s=1.0)
    journal.note(OK, 30.0)
    journal.note(OK)
    assert journal.health.skew_s == 30.0
    journal.note(OK, 0.0)
    assert journal.health.notes == ()
