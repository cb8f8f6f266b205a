"""Questions of placement, and what is kept placed: decide, carry out where that may be, and say why."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace

from federation.api.models import EndAnswer, PlacedList, PlacementAnswer, PlacementIn
from federation.desk.carrying import DONE, Carried, carry_through, end, sentence_of
from federation.desk.desk import FleetDesk
from federation.desk.records import Placed
from federation.desk.shapes import placement_json
from federation.manifest.form import workload_of
from federation.manifest.read import Manifest, read_manifest
from federation.placement.answer import Placement
from federation.placement.explain.record import decision_of
from federation.snapshot import Snapshot
from prewarm.domain import InputError, PrewarmError, decision_id, function_key, rfc3339
from prewarm.http.auth import Right
from prewarm.http.parameters import KEY_PARAMETER
from prewarm.http.problem import ProblemError
from prewarm.http.queries import Cursor
from prewarm.http.routes import Call, Route
from prewarm.store.people import Stamp

log = logging.getLogger("federation.api")
API = "api"
_WATCHED_S = 3.0
_SIMULATED = "this fleet is simulated"
_GONE = frozenset({"released", "carried_out", "unchanged"})


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of a decision."""

    became: str
    why: str | None = None
    notes: tuple[str, ...] = ()


async def post_placement(call: Call[FleetDesk]) -> object:
    """Decide where a workload goes; carried out only where that was asked for and the mode allows it."""
    asked: PlacementIn = call.body
    desk, loop = call.service, asyncio.get_running_loop()
    ends_at = loop.time() + asked.deadline_ms / 1000
    manifest = _manifest(asked)
    if asked.with_dependencies:
        manifest = replace(manifest, workload=replace(manifest.workload, brings_needs=True))
    workload = manifest.workload
    await _watch(desk, manifest, limit_s=asked.deadline_ms / 1000)
    async with desk.turns:
        held_back = None if asked.dry_run else desk.may_write(workload.key)
        rehearsed = asked.dry_run or held_back is not None
        if not rehearsed and workload.key in desk.under_way:
            raise ProblemError(409, f"another placement of {workload.key} is under way")
        placement = desk.ask(workload) if rehearsed else desk.decide(workload)
    if rehearsed:
        await desk.records.keep_decisions([decision_of(placement)])
        return placement_json(placement, "dry_run", dry_run=True, why=held_back, notes=[])
    done = await _carry(desk, asked, manifest, placement, left_s=max(0.0, ends_at - loop.time()))
    return placement_json(placement, done.became, dry_run=False, why=done.why, notes=list(done.notes))


async def list_placements(call: Call[FleetDesk]) -> object:
    """Workloads that are kept placed, by key, and where their instances are now."""
    query: Cursor = call.query
    desk = call.service
    snapshot = desk.look()
    keys = [key for key in sorted(desk.placed) if query.cursor is None or key > query.cursor]
    rows = [_row(desk.placed[key], snapshot, desk.troubles.get(key)) for key in keys[: query.limit]]
    following = keys[query.limit - 1] if len(keys) > query.limit else None
    return {"placements": rows, "next": following}


def _row(placed: Placed, snapshot: Snapshot, trouble: str | None) -> dict[str, object]:
    here = {one.name: one.running[placed.key] for one in snapshot.clusters if placed.key in one.running}
    try:
        workload = placed.manifest.workload
    except InputError:  # the rules have changed since it was kept; the minder says so
        workload = None
    return {
        "key": placed.key,
        "kind": None if workload is None else workload.kind,
        "replicas": None if workload is None else workload.replicas,
        "clusters": {name: one.existing for name, one in here.items()},
        "ready": {name: one.ready for name, one in here.items()},
        "decision": placed.decision,
        "since": rfc3339(placed.at),
        "trouble": trouble,
    }


async def end_placement(call: Call[FleetDesk]) -> object:
    """No longer keep it placed, and take away what was made for it, nothing else."""
    desk, key = call.service, function_key(call.path("key"), "key")
    held = frozenset(claim.id for claim in desk.placer.book.own(key))
    if key not in desk.placed and not held:
        raise ProblemError(404, f"{key} is not kept placed")
    if (why := desk.may_write(key)) is not None:
        raise ProblemError(409, f"nothing is taken away: {why}")
    if key in desk.under_way:
        raise ProblemError(409, f"a placement of {key} is under way")
    desk.under_way.add(key)
    try:
        answer = await _take_away(desk, key)
    finally:
        desk.under_way.discard(key)
    if answer["became"] in _GONE:
        await desk.give_back(held)
    return answer


async def _take_away(desk: FleetDesk, key: str) -> dict[str, object]:
    if desk.carrier is None or key not in desk.placed:
        return {"key": key, "became": "released", "removed": [], "kept": [], "why": None}
    now = desk.now()
    ended = await end(desk.carrier, decision_id(now, key, "end"), key, clients=desk.clients(), now=now)
    why = "; ".join([*ended.lost, *([told] if (told := sentence_of(ended.report)) else [])]) or None
    if ended.report.verdict in DONE:
        await desk.records.forget_placed(key, Stamp(API, now))
        desk.placed.pop(key, None)
    became = _spelled(ended.report.verdict)
    return {"key": key, "became": became, "removed": list(ended.gone), "kept": list(ended.kept), "why": why}


async def _carry(
    desk: FleetDesk, asked: PlacementIn, manifest: Manifest, placement: Placement, *, left_s: float
) -> _Done:
    """Carry out and write down; what takes longer than the deadline goes on by itself and is written down then."""
    if desk.carrier is None or manifest.body is None:
        await _hold(desk, placement)
        return _Done("reserved", "no manifest was sent, so nothing is created" if desk.carrier else _SIMULATED)
    placed = Placed(
        placement.workload, manifest.body, placement.at, placement.id, with_dependencies=asked.with_dependencies
    )
    desk.under_way.add(placed.key)
    task = asyncio.ensure_future(_carry_through(desk, placed, placement))
    desk.keep_task(task)
    finished, _ = await asyncio.wait({task}, timeout=left_s)
    if not finished:
        return _Done("under_way", f"still under way after {asked.deadline_ms:g} ms")
    carried = task.result()
    return _Done(_spelled(carried.verdict), carried.why, carried.notes)


async def _carry_through(desk: FleetDesk, placed: Placed, placement: Placement) -> Carried:
    try:
        carried = await carry_through(desk, placed, placement, API)
    finally:
        desk.under_way.discard(placed.key)
    if not carried.done:  # whoever asked may have gone
        log.warning("not placed", extra={"workload": placed.key, "verdict": str(carried.verdict), "why": carried.why})
    return carried


async def _hold(desk: FleetDesk, placement: Placement) -> None:
    """Write down a decision that only holds room; without its record the room is given back."""
    try:
        await desk.records.keep_promised(decision_of(placement), desk.placer.promised(placement))
    except PrewarmError:
        desk.placer.cancel(placement.id)
        raise


async def _watch(desk: FleetDesk, manifest: Manifest, *, limit_s: float) -> None:
    """Have the names of what it needs watched, and wait a little for the first lists."""
    await desk.view.watch(manifest.workload.kinds_needed, min(_WATCHED_S, limit_s / 2))


def _manifest(asked: PlacementIn) -> Manifest:
    if (asked.workload is None) == (asked.manifest is None):
        raise ProblemError(400, "workload: one of workload and manifest must be given, and not both")
    if asked.manifest is not None:
        return read_manifest(asked.manifest, "manifest")
    assert asked.workload is not None, "one of the two is there"
    return Manifest(workload_of(asked.workload, "workload"), None)


def _space(call: Call[FleetDesk]) -> tuple[str]:
    """The namespace that a placement writes to; an unreadable question is refused before anything is written."""
    asked: PlacementIn = call.body
    return (_manifest(asked).workload.namespace,)


def _spelled(verdict: str) -> str:
    return {"done": "carried_out"}.get(str(verdict), str(verdict))


def placement_routes() -> list[Route[FleetDesk]]:
    """The routes of this subject."""
    return [
        Route(
            "POST",
            "/v1/placements",
            post_placement,
            "Where a workload goes, and why",
            right=Right.WRITE,
            body=PlacementIn,
            answer=PlacementAnswer,
            tag="fleet",
            spaces=_space,
        ),
        Route(
            "GET",
            "/v1/placements",
            list_placements,
            "Workloads that are kept placed",
            query=Cursor,
            answer=PlacedList,
            tag="fleet",
        ),
        Route(
            "DELETE",
            "/v1/placements/{key}",
            end_placement,
            "End a placement",
            right=Right.WRITE,
            answer=EndAnswer,
            tag="fleet",
            parameters=KEY_PARAMETER,
        ),
    ]
