"""The fleet as the service works with it: one view, one placer, one way to carry out, and what people said.

Everything here lives on the event loop. A decision is one synchronous call of the placer on the newest snapshot, so two
requests never see the same free place; writes to clusters and to the database are awaited around it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from federation.apply.around.drain import Cordon
from federation.apply.rollout.carry import Carrier
from federation.desk.learned import Learned
from federation.desk.mixed import Mixed, terms_with, told
from federation.desk.records import Placed, Records, Said
from federation.desk.turns import Turns
from federation.desk.wanted import TAKES_WORK
from federation.members.api import Api
from federation.placement.answer import Placement
from federation.placement.placer import Placer
from federation.placement.reserve.book import EMPTY, reserve
from federation.placement.terms import Terms
from federation.placement.workload import Workload
from federation.snapshot import Snapshot
from prewarm.domain import InputError, Mode
from prewarm.loop.fleet import Fleet
from prewarm.settings import Link
from prewarm.store.people import Stamp

log = logging.getLogger("federation.desk")
_GRACE_S = 5.0


class FleetView(Protocol):
    """Whatever shows a fleet: real members that are watched, or simulated ones."""

    def snapshot(self, now: float) -> Snapshot:
        """The fleet as it is held; never waits."""
        ...

    def told(self, said: Mapping[str, Said], links: tuple[Link, ...] | None) -> None:
        """Take what people said of clusters, and the network where it was set through the API."""
        ...

    async def watch(self, kinds: frozenset[str], limit_s: float) -> None:
        """Know the names of these kinds too (of `Workload.needs`); waits at most so long for the first lists."""
        ...


class Decided(Protocol):
    """Counts decisions."""

    def saw(self, placed: int, unplaced: int, seconds: float) -> None:
        """One decision: instances placed and not, and how long it took."""
        ...


@dataclass(slots=True)
class FleetDesk:
    """One fleet. `carrier` and `clients` are there where clusters can be written to."""

    demand: Fleet
    view: FleetView
    records: Records
    placer: Placer
    carrier: Carrier | None = None
    clients: Callable[[], Mapping[str, Api]] = dict
    scorer: Learned | None = None
    mixed: Mixed | None = None
    """The forecast mix in force, with the values of node states under it; None counts as neutral."""
    placed: dict[str, Placed] = field(default_factory=dict)
    said: dict[str, Said] = field(default_factory=dict)
    links: tuple[Link, ...] | None = None
    """The network as it was set through the API; None where the configuration's holds."""
    troubles: dict[str, str] = field(default_factory=dict)
    """By workload that is kept placed, what stands in the way of placing it as wanted."""
    metrics: Decided | None = None
    """Who counts decisions."""
    under_way: set[str] = field(default_factory=set)
    """Workloads that are being carried out or ended now; nobody decides about them meanwhile."""
    turns: Turns = field(default_factory=Turns)
    """Held by a request while it decides."""
    _tasks: set[asyncio.Future[Any]] = field(default_factory=set)

    def now(self) -> float:
        """The service's clock."""
        return self.demand.clock.now()

    def look(self) -> Snapshot:
        """The newest snapshot, which the placer then stands on."""
        snapshot = self.view.snapshot(self.now())
        self.placer.see(snapshot)
        return snapshot

    def ask(self, workload: Workload) -> Placement:
        """What would be decided."""
        return self._timed(self.placer.ask, workload)

    def decide(self, workload: Workload) -> Placement:
        """Decide, and hold the room."""
        return self._timed(self.placer.place, workload)

    def _timed(self, asked: Callable[..., Placement], workload: Workload) -> Placement:
        began = time.perf_counter()
        self.look()
        placement = asked(workload, terms=self._terms(workload), now=self.now())
        if self.metrics is not None:
            placed = sum(share.replicas for share in placement.shares)
            self.metrics.saw(placed, placement.unplaced, time.perf_counter() - began)
        return told(self.mixed, placement, workload)

    async def give_back(self, decisions: Iterable[str]) -> None:
        """Release what decisions were promised: now, and in the database so that a restart does not bring it back."""
        given = tuple(decisions)
        for one in given:
            self.placer.cancel(one)
        if given:
            await self.records.release(given)

    def may_write(self, key: str) -> str | None:
        """None where a placement of `key` may be carried out now, else why not."""
        mode = self.demand.told.modes.of(key)
        return None if mode is Mode.ACTIVE else f"the mode of {key} is {mode}"

    def keep_task(self, task: asyncio.Future[Any]) -> None:
        """Work that outlives its request is held until it is over."""
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def close(self) -> None:
        """Wait a little for what is under way; what takes longer is in the journal, and the next start takes it up."""
        if not self._tasks:
            return
        _, left = await asyncio.wait(self._tasks, timeout=_GRACE_S)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def recall(self) -> None:
        """Take up what was kept before a restart."""
        self.placed = dict(await self.records.placed())
        self.said = dict(await self.records.said())
        self.links = await self.records.links()
        homes, moves = await self.records.memory()
        book = reserve(EMPTY, await self.records.promised(self.now()))
        self.placer = Placer(self.placer.snapshot, book=book, homes=homes, moves=moves)
        self.view.told(self.said, self.links)
        await self.view.watch(self._kinds_needed(), 0.0)

    def _kinds_needed(self) -> frozenset[str]:
        """Of everything that is kept placed; what cannot be read any more is for the minder to tell."""
        found: set[str] = set()
        for one in self.placed.values():
            with suppress(InputError):
                found |= one.manifest.workload.kinds_needed
        return frozenset(found)

    async def say(self, cluster: str, said: Said) -> None:
        """Take a cluster out of use."""
        await self.records.say(cluster, said)
        self.said[cluster] = said
        self.view.told(self.said, self.links)

    async def unsay(self, cluster: str, stamp: Stamp) -> bool:
        """Back into use; False where nothing was said of it."""
        found = await self.records.unsay(cluster, stamp)
        self.said.pop(cluster, None)
        self.view.told(self.said, self.links)
        return found

    async def connect(self, links: tuple[Link, ...], stamp: Stamp) -> None:
        """Set the network; it replaces what the configuration says."""
        await self.records.keep_links(links, stamp)
        self.links = links
        self.view.told(self.said, links)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a placement was not carried out to its end", exc_info=error)

    def _terms(self, workload: Workload) -> Terms:
        """What holds for a decision on this workload now."""
        terms = Terms(
            policy=self.demand.settings.placement,
            scorer=self.scorer,
            mode=self.demand.told.modes.of(workload.key),
            overrides=tuple(self.demand.active_overrides(self.now())),
            draining=self.draining(),
        )
        return terms_with(self.mixed, terms, workload)

    def draining(self) -> frozenset[str]:
        """Clusters that are being emptied; none where nobody would be left to take what they have.

        A cluster that is cordoned takes nothing, and no more does a second name of one that is being emptied.
        """
        draining = frozenset(name for name, one in self.said.items() if one.state is Cordon.DRAINING)
        if not draining:
            return draining
        taking = {one.name for one in self.placer.snapshot.clusters if one.state in TAKES_WORK}
        return draining if taking - draining else frozenset()
