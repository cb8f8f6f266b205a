"""From a decision to what clusters get: the rollout of a placement, carried out or rehearsed, and what became of it.

A decision that is not carried out must not keep its room, and one that is undone neither; whatever happened is said in
words that name the member.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from federation.apply.around.dependencies import missing_there, read_copies
from federation.apply.around.unplace import ending_of, rollout_to_end
from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.work import Report, Rollout, State, Verdict, works_of
from federation.apply.state.objects import ref_of
from federation.apply.writer import ServerWriter
from federation.manifest.fields import Json
from federation.manifest.read import Manifest
from federation.members.api import Api, MemberError
from federation.placement.answer import Placement
from federation.snapshot import Snapshot
from prewarm.domain import InputError

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
    targets = [share.cluster for share in placement.shares if share.replicas]
    given = tuple(companions)
    objects = dict.fromkeys(targets, given)
    if not copy:
        return Beside(objects)
    source = _source(manifest, snapshot, clients)
    if source is None:
        return Beside(objects, ("no member has what it needs; nothing is copied",))
    copies = await read_copies(ServerWriter(clients[source]), manifest.workload.needs)
    own = {ref_of(one) for one in given}
    for name in targets:
        if name != source:
            lacking = await missing_there(ServerWriter(clients[name]), copies.objects)
            objects[name] = (*given, *(one for one in lacking if ref_of(one) not in own))
    return Beside(objects, copies.notes)


def rollout_of(manifest: Manifest, placement: Placement, beside: Beside, *, force: bool = False) -> Rollout:
    """What clusters get; InputError where our own form was sent, from which no object can be made."""
    if manifest.body is None:
        raise InputError("workload: carries no manifest, so there is nothing to create; send `manifest`")
    replicas = {share.cluster: share.replicas for share in placement.shares}
    before = {share.cluster: share.before for share in placement.shares}
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
