"""Whatever goes wrong at whichever call: afterwards the fleet is as before or as wanted, and it never ran too few."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from federation.apply.rollout.work import Report, Verdict
from federation.members.api import RefusedError, UnreachableError
from tests.federation.apply.fake import Call, Crash
from tests.federation.apply.made import Fleet

MEMBERS = ("a", "b", "c")
SHARES = st.fixed_dictionaries(dict.fromkeys(MEMBERS, st.integers(0, 3)))
FAULTS = st.sampled_from(["crash", "crash after", "403", "409", "429", "500", "dark", "dark from here"])
Fault = Callable[[Call], None]


def counted(shares: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in shares.items() if count}


def trouble(fleet: Fleet, kind: str, number: int) -> None:
    """The n-th write of the fleet, counted from 0, meets this fault."""
    writes = -1

    def hit(name: str) -> Fault:
        def fault(call: Call) -> None:
            nonlocal writes
            writes += call.method != "GET"
            if writes != number or call.method == "GET":
                return
            if kind.startswith("crash"):
                raise Crash
            if kind == "dark from here":
                fleet.apis[name].fault = always(UnreachableError(name, "no answer"))
            if kind.startswith("dark"):
                raise UnreachableError(name, "no answer")
            raise RefusedError(name, int(kind), reason="Made")

        return fault

    for name, api in fleet.apis.items():
        if kind == "crash after":
            api.after = hit(name)
        else:
            api.fault = hit(name)


def always(error: Exception) -> Fault:
    def fault(_: Call) -> None:
        raise error

    return fault


class Watch:
    """The fewest instances that the fleet had in all, over every write."""

    def __init__(self, fleet: Fleet) -> None:
        self.fewest = 10**6
        for api in fleet.apis.values():
            inner = api._answer

            def looked(call: Call, inner: Callable[[Call], dict[str, object]] = inner) -> dict[str, object]:
                answer = inner(call)
                self.fewest = min(self.fewest, sum(count or 0 for count in fleet.replicas().values()))
                return answer

            api._answer = looked  # type: ignore[method-assign]


async def place(fleet: Fleet, after: dict[str, int], before: dict[str, int]) -> Report | None:
    try:
        report: Report = await fleet.place("p2", after, before)
    except BaseExceptionGroup as crash:
        assert crash.split(Crash)[1] is None
        return None
    return report


@settings(max_examples=150, deadline=None)
@given(SHARES, SHARES, FAULTS, st.integers(0, 5))
async def test_the_fleet_ends_as_before_or_as_wanted(
    before: dict[str, int], after: dict[str, int], kind: str, number: int
) -> None:
    fleet = Fleet(*MEMBERS)
    if counted(before):
        await fleet.place("p1", counted(before), {})
    watch = Watch(fleet)
    trouble(fleet, kind, number)
    report = await place(fleet, counted(after), counted(before))
    now = {name: count or 0 for name, count in fleet.replicas().items()}
    if report is not None and report.verdict in (Verdict.DONE, Verdict.UNCHANGED):
        assert now == after
    if report is not None and report.verdict in (Verdict.UNDONE, Verdict.REFUSED):
        assert now == before
    reports = await fleet.restarted().resume()
    assert all(one.verdict in (Verdict.DONE, Verdict.UNDONE) for one in reports)
    now = {name: count or 0 for name, count in fleet.replicas().items()}
    assert now in (before, after)
    assert watch.fewest >= min(sum(before.values()), sum(after.values()))
    assert fleet.journal.kept == {}
    assert await fleet.carrier.resume() == ()


@settings(max_examples=60, deadline=None)
@given(SHARES, SHARES, FAULTS, st.integers(0, 5))
async def test_the_same_rollout_after_any_trouble_leads_to_what_was_wanted(
    before: dict[str, int], after: dict[str, int], kind: str, number: int
) -> None:
    fleet = Fleet(*MEMBERS)
    if counted(before):
        await fleet.place("p1", counted(before), {})
    trouble(fleet, kind, number)
    await place(fleet, counted(after), counted(before))
    carrier = fleet.restarted()
    await carrier.resume()
    now = {name: count for name, count in fleet.replicas().items() if count}
    report = await fleet.place("p3", counted(after), now)
    assert report.verdict in (Verdict.DONE, Verdict.UNCHANGED)
    assert {name: count or 0 for name, count in fleet.replicas().items()} == after
