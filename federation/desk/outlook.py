"""The forecast mix in the service: made anew as work changes, judged elsewhere, and only then put in force.

No decision waits. A round looks at what is known; where the mix has changed enough it is made anew in a thread and its
node states are judged for the shapes in use, while decisions go on with the one in force. In between, rounds judge the
states that appeared. Memos are changed on the event loop only; threads and processes get values and give values back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from federation.desk.desk import FleetDesk
from federation.desk.judges import judge_missing
from federation.desk.mixed import Mixed
from federation.desk.pace import keep_pace
from federation.desk.wanted import TAKES_WORK, work_in
from federation.nodes.foresee import foresee
from federation.nodes.outlook import Outlook, distance, outlook_of
from federation.placement.packing.changes import Shape, shape_of
from federation.placement.reserve.book import Book
from federation.placement.workload import Workload
from federation.snapshot import Nodes, Snapshot
from prewarm.domain import PrewarmError
from prewarm.forecast.pool import FitPool

log = logging.getLogger("federation.desk")
ROUND_S = 2.0
MATERIAL = 0.1
"""Share of the mix that must have changed for it to be made anew before its time."""
STEADY = 0.02
"""Where the mix changed by less, and what is to come by less than five times this, judgements stay in force."""
MOST_SHAPES = 64
"""Shapes that are judged before anybody asks: those asked for lately, then the most frequent of the mix."""
FORESIGHT_S = 300.0
"""Foreseeing how room declines is given up after so long."""


@dataclass(slots=True)
class Outlooks:
    """The rounds of one desk."""

    desk: FleetDesk
    accidents: int = 0
    """Rounds that ended by an error of ours."""
    _read: dict[str, tuple[object, Workload]] = field(default_factory=dict)
    _coming: asyncio.Task[Mixed] | None = None

    async def run(self) -> None:
        """For ever; a round that fails is logged, and the mix stays as it was."""
        keep_pace()
        try:
            while True:
                try:
                    await self.round()
                except Exception:  # the outermost loop of the outlook: placements go on with what is in force
                    self.accidents += 1
                    log.exception("the forecast mix of placement stays as it was")
                await asyncio.sleep(ROUND_S)
        finally:
            if self._coming is not None:
                self._coming.cancel()

    async def round(self) -> None:
        """Begin an outlook where one is due, put one that is ready in force; judge what nobody has judged.

        The first goes into force as it is, with room as it is now: better that than none for half a minute.
        """
        desk, now = self.desk, self.desk.now()
        policy, snapshot = desk.demand.settings.placement, desk.look()
        book, placed, forecast = desk.placer.book, self._placed(), self._forecast()
        made, shapes = await asyncio.to_thread(_made, snapshot, book, placed, forecast, policy.outlook_load)
        if made is None:
            desk.mixed = None
            return
        if desk.mixed is None:
            await self._enforce(Mixed.of(made, now, first=True), shapes)
        last = desk.mixed
        assert last is not None, "it was put in force"
        if self._coming is None and _due(made, last, now, policy.outlook_s):
            self._coming = asyncio.create_task(_foreseen(made, _open_nodes(snapshot), now))
        if self._coming is not None and (self._coming.done() or not _asks_gpus(made)):
            coming, self._coming = self._coming, None
            await self._enforce(await coming, shapes)
        else:
            await self._judge(last, last.future_fill.shapes[::-1])

    async def _enforce(self, fresh: Mixed, shapes: Iterable[Shape]) -> None:
        """Judge nodes for the shapes in use, then let decisions go by it."""
        last = self.desk.mixed
        await self._judge(fresh, (*(last.future_fill.shapes[::-1] if last is not None else ()), *shapes))
        self.desk.mixed = fresh

    async def _judge(self, mixed: Mixed, shapes: Iterable[Shape]) -> None:
        """Have judged what is missing for the first of these shapes."""
        wanted = tuple(dict.fromkeys(shapes))[:MOST_SHAPES]
        await judge_missing(mixed.memos, wanted, lambda: self.desk.placer.fleet)

    def _placed(self) -> Mapping[str, Workload]:
        """Workloads that are to stay placed; each manifest is read once, and one that cannot be read is left out."""
        placed = self.desk.placed
        kept = {key: read for key, read in self._read.items() if key in placed and placed[key] is read[0]}
        for key, one in placed.items():
            if key not in kept:
                try:
                    kept[key] = (one, one.manifest.workload)
                except PrewarmError as error:
                    log.debug("left out of the mix: %s", error)
        self._read = kept
        return {key: workload for key, (_, workload) in kept.items()}

    def _forecast(self) -> Mapping[str, int]:
        """Instances that the last tick wants of each function."""
        view = self.desk.demand.view
        if view is None:
            return {}
        return dict(zip(map(str, view.keys), view.decisions.to_count.tolist(), strict=False))


def _made(
    snapshot: Snapshot, book: Book, placed: Mapping[str, Workload], forecast: Mapping[str, int], load: float
) -> tuple[Outlook | None, list[Shape]]:
    """The outlook, and the shapes that it was made from, the most wanted first."""
    work = work_in(snapshot, book, placed, forecast)
    shapes = [shape_of(one.requests, one.gpu) for one in sorted(work.wanted, key=lambda one: -one.wanted)]
    return outlook_of(work.wanted, _open_nodes(snapshot), load=load, unknown=work.unknown), shapes


async def _foreseen(made: Outlook, nodes: list[Nodes], now: float) -> Mixed:
    """With its room foreseen by another process, where GPUs are asked for; room as it is now where that fails."""
    if not _asks_gpus(made):
        return Mixed.of(made, now)
    question = await asyncio.to_thread(made.question, nodes)
    async with FitPool(1, preload=(foresee.__module__,)) as pool:
        outcome = await pool.run(foresee, question, budget_s=FORESIGHT_S)
    if outcome.status != "done":
        log.warning("room is taken as it is now: %s", outcome.reason)
        return Mixed.of(made, now)
    return Mixed.of(made.foreseeing(outcome.value), now)


def _due(made: Outlook, last: Mixed, now: float, outlook_s: float) -> bool:
    """Whether it is worth judging every node anew."""
    changed, age_s = distance(made.mix, last.outlook.mix), now - last.at
    unforeseen = _asks_gpus(made) and not last.outlook.foreseen
    if changed > MATERIAL or (unforeseen and last.first):
        return True
    if age_s < outlook_s:
        return False
    moved = abs(made.arrivals - last.outlook.arrivals) > 5 * STEADY * max(last.outlook.arrivals, 1.0)
    return unforeseen or changed > STEADY or moved


def _asks_gpus(made: Outlook) -> bool:
    return bool(made.mix.demand.any())


def _open_nodes(snapshot: Snapshot) -> list[Nodes]:
    return [one.nodes for one in snapshot.clusters if one.state in TAKES_WORK]
