"""Keeps what is placed placed: asks again for every workload as the fleet changes, and carries the answer out.

Level-triggered. A round decides each kept workload anew on the newest snapshot; most answers are what is there already
and cost a few milliseconds. Loss of a cluster, its return, a drain and a changed policy are all the same thing here: an
answer that differs from what runs. How much may move is for placement's own limits to say.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from federation.desk.carrying import DONE, beside_of, rollout_of, sentence_of
from federation.desk.desk import FleetDesk
from federation.desk.records import Placed
from federation.manifest.read import Manifest
from federation.members.api import MemberError
from federation.placement.answer import Placement
from federation.placement.explain.record import decision_of
from prewarm.domain import PrewarmError

log = logging.getLogger("federation.desk")
ROUND_S = 5.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 15.0, 600.0
"""Before a workload whose placement failed is tried again; doubled each time."""


class Minder:
    """The rounds of one desk. `troubles`: by workload, what stood in the way last."""

    def __init__(self, desk: FleetDesk) -> None:
        self._desk = desk
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._pauses: dict[str, tuple[float, float]] = {}
        self.troubles: dict[str, str] = {}

    async def run(self) -> None:
        """For ever; what a round raises is logged, and the next one comes."""
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(ROUND_S)
                try:
                    await self.round(group)
                except PrewarmError as error:
                    log.warning("placements as before: %s", error)
                except Exception:
                    log.exception("placements as before")

    async def round(self, group: asyncio.TaskGroup) -> None:
        """Ask for each workload; what differs is carried out in a task of `group`, one at a time for a workload."""
        for key in [key for key, task in self._under_way.items() if task.done()]:
            del self._under_way[key]
        now = self._desk.now()
        self._desk.look()
        for key, placed in sorted(self._desk.placed.items()):
            if key in self._under_way or self._desk.carrier is None or self._pauses.get(key, (0.0, 0.0))[1] > now:
                continue
            if (why := self._desk.may_write(key)) is not None:
                self.troubles[key] = why
                continue
            if (placement := self._wanted(placed)) is not None:
                work = self._carry(placed, placed.manifest, placement)
                self._under_way[key] = group.create_task(work, name=f"place {key}")
            await asyncio.sleep(0)  # a long list must not hold up requests

    def _wanted(self, placed: Placed) -> Placement | None:
        """A placement that differs from what is there and can be made; None otherwise."""
        workload = replace(placed.manifest.workload, brings_needs=placed.with_dependencies)
        asked = self._desk.ask(workload)
        if all(share.replicas == share.before for share in asked.shares):
            self._note(placed.key, asked.vetoes[0] if asked.vetoes else None)
            return None
        return self._desk.decide(workload)

    async def _carry(self, placed: Placed, manifest: Manifest, placement: Placement) -> None:
        desk = self._desk
        assert desk.carrier is not None, "rounds without a carrier start no work"
        clients = desk.clients()
        try:
            beside = await beside_of(
                manifest,
                placement,
                placed.beside,
                clients=clients,
                snapshot=desk.placer.snapshot,
                copy=placed.with_dependencies,
            )
            report = await desk.carrier.carry_out(rollout_of(manifest, placement, beside), now=desk.now())
        except MemberError as error:
            self._failed(placement, str(error))
            return
        done = report.verdict in DONE
        if done:
            self._pauses.pop(placed.key, None)
            self._note(placed.key, None)
        else:
            self._failed(placement, sentence_of(report) or report.verdict)
        await desk.records.keep_decisions([decision_of(replace(placement, applied=done))])

    def _failed(self, placement: Placement, why: str) -> None:
        """Nothing keeps its room, and the next try waits longer than the last."""
        self._desk.placer.cancel(placement.id)
        pause = min(2 * self._pauses.get(placement.workload, (FIRST_PAUSE_S / 2, 0.0))[0], LONGEST_PAUSE_S)
        self._pauses[placement.workload] = (pause, self._desk.now() + pause)
        self._note(placement.workload, why)

    def _note(self, key: str, why: str | None) -> None:
        if why is None:
            self.troubles.pop(key, None)
        elif self.troubles.get(key) != why:
            log.warning("not placed as wanted", extra={"workload": key, "why": why})
            self.troubles[key] = why
