"""Placement as a single command: look at the fleet, decide for each workload in a file, and carry out or rehearse.

The same decision, the same journal and the same writer as in the service; only that it ends. What an earlier run left
open in the journal is settled first, so that a command that was killed does no harm.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from federation.apply.around.traffic import Route, check_gateway, traffic_work
from federation.apply.ready import StatusObserver
from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.journal import StoreJournal
from federation.apply.rollout.means import Means
from federation.apply.rollout.work import Report, Rollout, Verdict
from federation.apply.state.plan import described
from federation.apply.writer import RehearsalWriter, ServerWriter, writers_of
from federation.desk.carrying import DONE, beside_of, end, rollout_of, sentence_of
from federation.desk.mixed import Mixed, terms_with, told
from federation.desk.wanted import TAKES_WORK, work_in
from federation.desk.watched import WatchedView
from federation.kubeconfig.source import Places
from federation.live import LiveFleet, live_fleet
from federation.manifest.read import Bundle, Manifest, read_bundle
from federation.members.api import MemberError
from federation.nodes.outlook import outlook_of
from federation.placement.answer import Placement
from federation.placement.explain.record import detail_of
from federation.placement.explain.text import sentences
from federation.placement.placer import Placer
from federation.placement.reserve.book import EMPTY
from federation.placement.terms import Terms
from federation.snapshot import Snapshot
from prewarm.domain import InputError, Mode, decision_id
from prewarm.history import Retention
from prewarm.settings import Settings
from prewarm.store import Store

_NAMES_S = 5.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for. `name`: of the file, for messages."""

    text: str
    name: str
    database: str
    namespace: str = "default"
    apply: bool = False
    delete: bool = False
    with_dependencies: bool = False
    force: bool = False
    route: str | None = None
    route_backend: str = "{name}-{cluster}"
    wait_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one workload, in words and as values."""

    key: str
    good: bool
    headline: str
    lines: tuple[str, ...]
    detail: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The whole record."""
        return {"workload": self.key, "good": self.good, "told": self.headline, **self.detail}


@dataclass(slots=True)
class _Errand:
    """Everything that one run needs."""

    wish: Wish
    fleet: LiveFleet
    placer: Placer
    terms: Terms
    store: Store
    mixed: Mixed | None = None

    def carrier(self, *, rehearsing: bool = False) -> Carrier:
        """Who writes, or asks the servers to act as if."""
        clients = lambda: self.fleet.members.clients  # noqa: E731  handed on, not named
        writers = writers_of(clients, kind=RehearsalWriter if rehearsing else ServerWriter)
        return Carrier(Means(writers, StoreJournal(self.store), StatusObserver(writers)))


async def place_once(places: Places, settings: Settings, environ: Mapping[str, str], wish: Wish) -> tuple[Answer, ...]:
    """An answer for each workload in the file. InputError where the file or the fleet cannot be used."""
    bundle = read_bundle(wish.text, wish.name, namespace=wish.namespace)
    async with live_fleet(places, settings, environ) as fleet, Store.open(wish.database, Retention()) as store:
        await _look(fleet, settings, bundle, wish)
        placer = Placer(fleet.snapshot(time.time()))
        terms = Terms(policy=settings.placement, mode=Mode.ACTIVE if wish.apply else Mode.SHADOW)
        mixed = await asyncio.to_thread(_mixed, placer.snapshot, bundle, settings.placement.outlook_load)
        errand = _Errand(wish, fleet, placer, terms, store, mixed)
        if wish.apply or wish.delete:
            await errand.carrier().resume()
        return tuple([await _one(errand, manifest, bundle) for manifest in bundle.manifests])


async def _look(fleet: LiveFleet, settings: Settings, bundle: Bundle, wish: Wish) -> None:
    """Have every member listed, with the names of what the workloads need."""
    kinds: frozenset[str] = frozenset().union(*(one.workload.kinds_needed for one in bundle.manifests))
    await fleet.settled(wish.wait_s)
    await WatchedView(fleet, settings).watch(kinds, _NAMES_S)
    if not fleet.snapshot(time.time()).clusters:
        raise InputError("fleet: has no members; name a kubeconfig with --kubeconfig")


def _mixed(snapshot: Snapshot, bundle: Bundle, load: float) -> Mixed | None:
    """The mix of what runs and of what is asked for; a command does not wait for foresight."""
    asked = {one.workload.key: one.workload for one in bundle.manifests}
    work = work_in(snapshot, EMPTY, asked)
    nodes = [one.nodes for one in snapshot.clusters if one.state in TAKES_WORK]
    outlook = outlook_of(work.wanted, nodes, load=load, unknown=work.unknown)
    return None if outlook is None else Mixed.of(outlook, snapshot.at, patient=True)


async def _one(errand: _Errand, manifest: Manifest, bundle: Bundle) -> Answer:
    if errand.wish.delete:
        return await _end(errand, manifest)
    workload = replace(manifest.workload, brings_needs=errand.wish.with_dependencies)
    now = time.time()
    errand.placer.see(errand.fleet.snapshot(now))
    terms = terms_with(errand.mixed, errand.terms, workload)
    placement = told(errand.mixed, errand.placer.place(workload, terms=terms, now=now), workload)
    try:
        report, notes = await _carry(errand, manifest, placement, bundle)
    except MemberError as error:
        errand.placer.cancel(placement.id)
        return _answer(placement, None, (), str(error))
    return _answer(placement, report, notes, None if report is None else sentence_of(report))


async def _carry(
    errand: _Errand, manifest: Manifest, placement: Placement, bundle: Bundle
) -> tuple[Report | None, tuple[str, ...]]:
    """Carry out or rehearse; None where there is nothing to write."""
    if manifest.body is None:
        return None, ("our own form says where it would go; a manifest is needed to put it there",)
    wish, clients = errand.wish, errand.fleet.members.clients
    beside = await beside_of(
        manifest,
        placement,
        bundle.companions,
        clients=clients,
        snapshot=errand.placer.snapshot,
        copy=wish.with_dependencies,
    )
    rollout = rollout_of(manifest, placement, beside, force=wish.force)
    rollout = await _with_route(errand, rollout, placement)
    if wish.apply:
        return await errand.carrier().carry_out(rollout, now=placement.at), beside.notes
    return await errand.carrier(rehearsing=True).rehearse(rollout), beside.notes


async def _with_route(errand: _Errand, rollout: Rollout, placement: Placement) -> Rollout:
    """With an HTTPRoute at the Gateway that was named, where one was."""
    wish, clients = errand.wish, errand.fleet.members.clients
    if wish.route is None:
        return rollout
    member, _, parent = wish.route.partition(":")
    if not (member and parent):
        raise InputError(f"--route: must be CLUSTER:[NAMESPACE/]GATEWAY, is {wish.route!r}")
    if member not in clients:
        raise InputError(f"--route: {member} is not a member of the fleet")
    await check_gateway(clients[member])
    route = Route(member, parent, backend=wish.route_backend)
    shares = [share for share in placement.shares if share.replicas]
    return replace(rollout, works=(*rollout.works, traffic_work(placement.workload, shares, route)))


async def _end(errand: _Errand, manifest: Manifest) -> Answer:
    key, now = manifest.workload.key, time.time()
    ended = await end(
        errand.carrier(), decision_id(now, key, "placement"), key, clients=errand.fleet.members.clients, now=now
    )
    why = sentence_of(ended.report)
    lines = [*(f"removed {one}" for one in ended.gone), *(f"kept {one}" for one in ended.kept), *ended.lost]
    good = why is None and not ended.lost
    told = f"{key}: {'removed' if ended.gone else 'nothing of ours was there'}" if why is None else f"{key}: {why}"
    detail = {"removed": list(ended.gone), "kept": list(ended.kept), "lost": list(ended.lost), "why": why}
    return Answer(key, good, told, tuple(lines), detail)


def _answer(placement: Placement, report: Report | None, notes: tuple[str, ...], why: str | None) -> Answer:
    detail = detail_of(placement)
    verdict = "decided only" if report is None else str(report.verdict)
    placed = sum(share.replicas for share in placement.shares)
    if report is not None and report.verdict is Verdict.REHEARSED:
        verdict = "a dry run; --apply puts it there" if placed else "a dry run"
    steps = _steps(report)
    reasons = [(reason.factor, reason.text) for reason in placement.reasons]
    lines = [*sentences(detail, reasons), *steps, *notes, *([f"not carried out: {why}"] if why else [])]
    failed = why is not None and (report is None or report.verdict is not Verdict.REHEARSED)
    rehearsed_badly = report is not None and report.verdict is Verdict.REHEARSED and any(o.why for o in report.outcomes)
    good = not placement.unplaced and not failed and not rehearsed_badly
    more = {
        "decision": placement.id,
        "verdict": None if report is None else str(report.verdict),
        "carried_out": report is not None and report.verdict in DONE,
        "why": why,
        "notes": list(notes),
        "steps": steps,
    }
    head = f"{placement.workload}: {placed} of {placement.replicas} placed ({verdict})"
    return Answer(placement.workload, good, head, tuple(lines), {**detail, **more})


def _steps(report: Report | None) -> list[str]:
    if report is None:
        return []
    found = []
    for one in report.outcomes:
        text = described(one.steps) if one.steps else ""
        found += [f"{one.member} {one.stage}: {line}" for line in text.splitlines() if line.strip()]
        if one.why:
            found.append(f"{one.member} {one.stage}: {one.why}")
    return found
