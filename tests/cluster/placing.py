"""Placement over a real fleet by prewarm's own parts: snapshot, decision, rollout, with the journal in a database."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from federation.apply.ready import StatusObserver
from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.journal import StoreJournal
from federation.apply.rollout.means import Limits, Means
from federation.apply.rollout.work import Report
from federation.apply.writer import writers_of
from federation.desk.carrying import Beside, rollout_of
from federation.informer.fleet import FleetWatch
from federation.manifest.read import Manifest
from federation.placement.answer import Placement
from federation.placement.placer import Placer
from federation.placement.terms import Terms
from prewarm.history import Retention
from prewarm.store import Store

NOTHING_BESIDE = Beside({})


@dataclass(frozen=True, slots=True)
class Done:
    """A decision, what became of it, and how long deciding took."""

    placement: Placement
    report: Report
    decided_ms: float


@dataclass(slots=True)
class Desk:
    """Decides over a watched fleet and carries out."""

    watch: FleetWatch
    placer: Placer
    carrier: Carrier

    async def place(self, manifest: Manifest, *, terms: Terms | None = None) -> Done:
        """Decide on what is held now, and carry it out; room is given back where that failed."""
        began = time.perf_counter()
        now = time.time()
        self.placer.see(self.watch.snapshot(now))
        placement = self.placer.place(manifest.workload, terms=terms or Terms(), now=now)
        decided_ms = (time.perf_counter() - began) * 1000
        report = await self.carrier.carry_out(rollout_of(manifest, placement, NOTHING_BESIDE), now=now)
        if report.verdict.value not in ("done", "unchanged"):
            self.placer.cancel(placement.id)
        return Done(placement, report, decided_ms)


@asynccontextmanager
async def desk_over(watch: FleetWatch, folder: Path, limits: Limits | None = None) -> AsyncIterator[Desk]:
    """A desk whose journal is a database in `folder`."""
    async with Store.open(f"sqlite:///{folder / 'prewarm.db'}", Retention()) as store:
        writers = writers_of(lambda: watch.members.clients)
        means = Means(
            writers, StoreJournal(store), StatusObserver(writers, pause_s=0.2), limits or Limits(member_s=5.0)
        )
        yield Desk(watch, Placer(watch.snapshot(time.time())), Carrier(means))
