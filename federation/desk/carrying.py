"""From a decision to what clusters get: the rollout of a placement, carried out or rehearsed, and what became of it.

A decision that is not carried out must not keep its room, and one that is undone neither; whatever happened is said in
words that name the member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from federation.apply.around.dependencies import missing_there, read_copies
from federation.apply.around.unplace import ending_of, rollout_to_end
from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.work import Report, Rollout, State, Verdict, works_of
from federation.apply.state.objects import ref_of
from federation.apply.writer import ServerWriter
from federation.desk.desk import FleetDesk
from federation.desk.records import Placed
from federation.manifest.fields import Json
from federation.manifest.read import Manifest
from federation.members.api import Api, MemberError
from federation.placement.answer import Placement
from federation.placement.explain.record import decision_of
from federation.snapshot import MemberState, Snapshot
from prewarm.domain import InputError

NEEDS = "needs"
"""The filter on what must exist where a workload runs."""
DONE = frozenset({Verdict.DONE, Verdict.UNCHANGED})


@dataclass(frozen=True, slots=True)
class Beside:
    """Objects that a member needs beside the workload, by member; notes for the person who asked."""

    objects: Mapping[str, tuple[Json, ...]]
    notes: tuple[str, ...] = ()


async def beside_of(
    manifest: Manifest,
    placement: Placement,
    companions: Iterable[Json],
    *,
    clients: Mapping[str, Api],
    snapshot: Snapshot,
    copy: bool,
) -> Beside:
    """Companions for every member that gets instances, and copies of what it lacks where `copy` says so.

    MemberError where a member cannot be asked.
    """
    alone = left_alone(placement)
    targets = [share.cluster for share in placement.shares if share.replicas and share.cluster not in alone]
    given = tuple(companions)
    objects = dict.fromkeys(targets, given)
    left = tuple(f"{name} is left as it is: {why}" for name, why in sorted(alone.items()))
    if not copy:
        return Beside(objects, left)
    source = _source(manifest, snapshot, clients)
    if source is None:
        return Beside(objects, (*left, "no member has what it needs; nothing is copied"))
    copies = await read_copies(ServerWriter(clients[source]), manifest.workload.needs)
    own = {ref_of(one) for one in given}
    for name in targets:
        if name != source:
            lacking = await missing_there(ServerWriter(clients[name]), copies.objects)
            objects[name] = (*given, *(one for one in lacking if ref_of(one) not in own))
    return Beside(objects, (*left, *copies.notes))


def left_alone(placement: Placement) -> dict[str, str]:
    """Members where it runs on and lacks something that it needs, with the reason: an update would break what runs."""
    lacking = {one.cluster: one.reason for one in placement.filtered if one.filter == NEEDS}
    stays = [one.cluster for one in placement.shares if one.replicas and one.replicas == one.before]
    return {name: lacking[name] for name in stays if name in lacking}


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of a decision: a verdict of the rollout, why where it did not go through, and notes."""

    verdict: Verdict
    why: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Whether it is as decided now."""
        return self.verdict in DONE


async def carry_through(desk: FleetDesk, placed: Placed, placement: Placement, actor: str) -> Carried:
    """Write the decision down, carry it out, and keep the workload placed; its room is given back where that failed.

    The caller has put the key into `desk.under_way`. PrewarmError where the database cannot be written.
    """
    try:
        await desk.records.keep_promised(decision_of(placement), desk.placer.promised(placement))
        await desk.records.keep_memory(desk.placer.homes, desk.placer.moves, placement.at)
        carried = await _carry_out(desk, placed, placement)
    except Exception:  # a stop of the service is none: the journal's rollout keeps its room for the next start
        await desk.give_back([placement.id])
        raise
    if not carried.done:
        await desk.give_back([placement.id])
        return carried
    await desk.records.mark_applied([placement.id])
    kept = replace(placed, decision=placement.id)
    await desk.records.keep_placed(kept, actor)
    desk.placed[placed.key] = kept
    return carried


async def _carry_out(desk: FleetDesk, placed: Placed, placement: Placement) -> Carried:
    assert desk.carrier is not None, "the caller has looked"
    manifest, snapshot = placed.manifest, desk.placer.snapshot
    try:
        beside = await beside_of(
            manifest,
            placement,
            placed.beside,
            clients=desk.clients(),
            snapshot=snapshot,
            copy=placed.with_dependencies,
        )
        rollout = rollout_of(manifest, placement, beside, away=dark_in(snapshot))
        report = await desk.carrier.carry_out(rollout, now=desk.now())
    except (MemberError, InputError) as error:
        return Carried(Verdict.REFUSED, str(error))
    return Carried(report.verdict, sentence_of(report), beside.notes)


def dark_in(snapshot: Snapshot) -> frozenset[str]:
    """Members that do not answer."""
    return frozenset(one.name for one in snapshot.clusters if one.state is MemberState.DARK)


def rollout_of(
    manifest: Manifest,
    placement: Placement,
    beside: Beside,
    *,
    force: bool = False,
    away: frozenset[str] = frozenset(),
) -> Rollout:
    """What clusters get; InputError where our own form was sent, from which no object can be made.

    Members that are `away` are asked for nothing: what is too much there goes when they are back and are seen again.
    Nor are those that are `left_alone`.
    """
    if manifest.body is None:
        raise InputError("workload: carries no manifest, so there is nothing to create; send `manifest`")
    alone = left_alone(placement)
    here = [one for one in placement.shares if one.cluster not in alone and (one.replicas or one.cluster not in away)]
    replicas = {share.cluster: share.replicas for share in here}
    before = {share.cluster: share.before for share in here}
    works = works_of(manifest.body, replicas, before, beside=beside.objects)
    return Rollout(placement.id, placement.workload, works, force)


async def end(carrier: Carrier, decision: str, key: str, *, clients: Mapping[str, Api], now: float) -> Ended:
    """Take a workload away from every member that has it by us; a member that is away is told and not waited for."""
    endings, lost = [], []
    for name in sorted(clients):
        try:
            endings.append(await ending_of(clients[name], key))
        except MemberError as error:
            lost.append(str(error))
    kept = [f"{ref}: {why}" for ending in endings for ref, why in ending.kept]
    report = await carrier.carry_out(rollout_to_end(decision, key, endings), now=now)
    gone = [f"{one.work.member}: {ref}" for one in endings if one.work is not None for ref in one.work.gone]
    return Ended(report, tuple(gone) if report.verdict in DONE else (), tuple(kept), tuple(lost))


@dataclass(frozen=True, slots=True)
class Ended:
    """What went, what stays and why, and which members could not be asked."""

    report: Report
    gone: tuple[str, ...]
    kept: tuple[str, ...]
    lost: tuple[str, ...]


def sentence_of(report: Report) -> str | None:
    """Why it did not go through, naming members; None where it did or was only rehearsed without a complaint."""
    failed = [f"{one.member}: {one.why}" for one in report.outcomes if one.state is State.FAILED and one.why]
    if not failed and report.verdict in {*DONE, Verdict.REHEARSED}:
        return None
    return "; ".join(dict.fromkeys([*failed, *([report.why] if report.why else [])])) or str(report.verdict)


def _source(manifest: Manifest, snapshot: Snapshot, clients: Mapping[str, Api]) -> str | None:
    """The member that has most of what is needed, the first by name among equals; None where none has anything."""
    best, most = None, 0
    for cluster in snapshot.clusters:
        if cluster.name not in clients or cluster.present is None:
            continue
        has = sum(
            len(names & cluster.present.get(kind, frozenset())) for kind, names in manifest.workload.needs.items()
        )
        if has > most:
            best, most = cluster.name, has
    return best
