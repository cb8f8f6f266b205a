"""Keeps what is placed placed: asks again for every workload as the fleet changes, and carries the answer out.

Level-triggered. A round decides each kept workload anew on the newest snapshot; most answers are what is there already
and cost a few milliseconds. Loss of a cluster, its return, a drain and a changed policy are all the same thing here: an
answer that differs from what runs. How much may move is for placement's own limits to say.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from federation.desk.carrying import carry_through, dark_in
from federation.desk.desk import FleetDesk
from federation.desk.records import Placed
from federation.placement.answer import Placement
from prewarm.domain import PrewarmError

log = logging.getLogger("federation.desk")
ACTOR = "prewarm"
ROUND_S = 5.0
SETTLE_ROUNDS = 12
"""Every so many rounds, what rollouts left open at a member that was away is settled."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 15.0, 600.0
"""Before a workload whose placement failed is tried again; doubled each time."""


class Minder:
    """The rounds of one desk; what stood in the way of a workload last is told to the desk."""

    def __init__(self, desk: FleetDesk) -> None:
        self._desk = desk
        self._pauses: dict[str, tuple[float, float]] = {}
        self.troubles = desk.troubles
        self.accidents = 0
        """Rounds that ended by an error of ours."""

    async def run(self) -> None:
        """For ever; what a crash left open is settled before anything is placed. A round that fails is logged."""
        async with asyncio.TaskGroup() as group:
            turn = 0
            while True:
                try:
                    if turn % SETTLE_ROUNDS == 0 and self._desk.carrier is not None:
                        await self._desk.carrier.resume()
                    await self.round(group)
                except PrewarmError as error:
                    log.warning("placements as before: %s", error)
                except Exception:
                    self.accidents += 1
                    log.exception("placements as before")
                await asyncio.sleep(ROUND_S)
                turn += 1

    async def round(self, group: asyncio.TaskGroup) -> None:
        """Ask for each workload; what differs is carried out in a task of `group`, one at a time for a workload."""
        now = self._desk.now()
        self._desk.look()
        for key in self.troubles.keys() - self._desk.placed.keys():
            del self.troubles[key]
        for key, placed in sorted(self._desk.placed.items()):
            if self._desk.carrier is None or self._pauses.get(key, (0.0, 0.0))[1] > now:
                continue
            self._consider(placed, group)
            await asyncio.sleep(0)  # a long list must not hold up requests

    def _consider(self, placed: Placed, group: asyncio.TaskGroup) -> None:
        """Begin what is to be done about one workload, if anything."""
        key, desk = placed.key, self._desk
        if key in desk.under_way or desk.placed.get(key) is not placed:
            return
        if (why := desk.may_write(key)) is not None:
            self.troubles[key] = why
            return
        try:
            placement = self._wanted(placed)
        except PrewarmError as error:
            self._note(key, str(error))
            return
        if placement is not None:
            desk.under_way.add(key)
            group.create_task(self._carry(placed, placement), name=f"place {key}")

    def _wanted(self, placed: Placed) -> Placement | None:
        """A placement that differs from what is there and can be made; None otherwise."""
        workload = replace(placed.manifest.workload, brings_needs=placed.with_dependencies)
        asked = self._desk.ask(workload)
        away = dark_in(self._desk.placer.snapshot)
        if all(share.replicas == share.before for share in asked.shares if share.cluster not in away):
            self._note(placed.key, _missing(asked))
            return None
        return self._desk.decide(workload)

    async def _carry(self, placed: Placed, placement: Placement) -> None:
        key = placed.key
        try:
            carried = await carry_through(self._desk, placed, placement, ACTOR)
        except PrewarmError as error:
            self._failed(key, str(error))
        except Exception:  # the outermost loop of this workload: the others go on
            log.exception("placement failed", extra={"workload": key})
            self._failed(key, "the service failed at it; see its log")
        else:
            if carried.done:
                self._pauses.pop(key, None)
                self._note(key, _missing(placement))
            else:
                self._failed(key, carried.why or carried.verdict.value)
        finally:
            self._desk.under_way.discard(key)

    def _failed(self, key: str, why: str) -> None:
        """The next try waits longer than the last."""
        pause = min(2 * self._pauses.get(key, (FIRST_PAUSE_S / 2, 0.0))[0], LONGEST_PAUSE_S)
        self._pauses[key] = (pause, self._desk.now() + pause)
        self._note(key, why)

    def _note(self, key: str, why: str | None) -> None:
        if why is None:
            self.troubles.pop(key, None)
        elif self.troubles.get(key) != why:
            log.warning("not placed as wanted", extra={"workload": key, "why": why})
            self.troubles[key] = why


def _missing(placement: Placement) -> str | None:
    """What a placement leaves to be wished for."""
    if placement.vetoes:
        return placement.vetoes[0]
    return f"{placement.unplaced} of {placement.replicas} fit nowhere" if placement.unplaced else None
