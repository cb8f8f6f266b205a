"""The forecast mix in the service: made anew as work changes, judged elsewhere, and only then put in force.

No decision waits. A round looks at what is known; where the mix has changed enough it is made anew in a thread and its
node states are judged for the shapes in use, while decisions go on with the one in force. In between, rounds judge the
states that appeared. Memos are changed on the event loop only; threads and processes get values and give values back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from federation.desk.desk import FleetDesk
from federation.desk.judges import judge_missing
from federation.desk.mixed import Mixed
from federation.desk.pace import keep_pace
from federation.desk.wanted import TAKES_WORK, Work, work_in
from federation.nodes.foresee import foresee
from federation.nodes.mix import Mix
from federation.nodes.outlook import Outlook, distance, known_mix, outlook_of
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
            if self._coming is not None:  # its process ends before we do
                self._coming.cancel()
                await asyncio.wait({self._coming})

    async def round(self) -> None:
        """Begin an outlook where one is due, put one that is ready in force; judge what nobody has judged.

        The first goes into force as it is, with room as it is now: better that than none for half a minute. The mix is
        looked at in every round, the room only where an outlook may be due: it is many times the work.
        """
        desk, now = self.desk, self.desk.now()
        policy, snapshot = desk.demand.settings.placement, desk.look()
        nodes = _open_nodes(snapshot)
        known = await asyncio.to_thread(_known, snapshot, desk.placer.book, self._placed(), self._forecast())
        if known is None:
            desk.mixed = None
            return
        make = partial(asyncio.to_thread, known.outlook, nodes, policy.outlook_load)
        if desk.mixed is None:
            await self._enforce(Mixed.of(await make(), now, first=True), known.shapes)
        last = desk.mixed
        assert last is not None, "it was put in force"
        pressing = _pressing(known.mix, last)
        if self._coming is None and (pressing or now - last.at >= policy.outlook_s):
            made = await make()
            if pressing or _moved(made, last):
                self._coming = asyncio.create_task(_foreseen(made, nodes, now))
        if self._coming is not None and (self._coming.done() or not _asks_gpus(known.mix)):
            coming, self._coming = self._coming, None
            await self._enforce(await coming, known.shapes)
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


@dataclass(frozen=True, slots=True)
class _Known:
    """The work that is known, its mix, and the shapes that it was made from, the most wanted first."""

    work: Work
    mix: Mix
    shapes: tuple[Shape, ...]

    def outlook(self, nodes: Sequence[Nodes], load: float) -> Outlook:
        """The outlook of this work."""
        made = outlook_of(self.work.wanted, nodes, load=load, unknown=self.work.unknown)
        assert made is not None, "it has a mix"
        return made


def _known(
    snapshot: Snapshot, book: Book, placed: Mapping[str, Workload], forecast: Mapping[str, int]
) -> _Known | None:
    work = work_in(snapshot, book, placed, forecast)
    mix = known_mix(work.wanted, _open_nodes(snapshot))
    wanted = sorted(work.wanted, key=lambda one: -one.wanted)
    return None if mix is None else _Known(work, mix, tuple(shape_of(one.requests, one.gpu) for one in wanted))


async def _foreseen(made: Outlook, nodes: list[Nodes], now: float) -> Mixed:
    """With its room foreseen by another process, where GPUs are asked for; room as it is now where that fails."""
    if not _asks_gpus(made.mix):
        return Mixed.of(made, now)
    question = await asyncio.to_thread(made.question, nodes)
    async with FitPool(1, preload=(foresee.__module__,), spare=True) as pool:
        outcome = await pool.run(foresee, question, budget_s=FORESIGHT_S)
    if outcome.status != "done":
        log.warning("room is taken as it is now: %s", outcome.reason)
        return Mixed.of(made, now)
    return Mixed.of(made.foreseeing(outcome.value), now)


def _pressing(mix: Mix, last: Mixed) -> bool:
    """Whether every node is to be judged anew before its time."""
    return distance(mix, last.outlook.mix) > MATERIAL or (last.first and _unforeseen(mix, last))


def _moved(made: Outlook, last: Mixed) -> bool:
    """Whether that is worth it once its time has come."""
    more = abs(made.arrivals - last.outlook.arrivals) > 5 * STEADY * max(last.outlook.arrivals, 1.0)
    return _unforeseen(made.mix, last) or distance(made.mix, last.outlook.mix) > STEADY or more


def _unforeseen(mix: Mix, last: Mixed) -> bool:
    return _asks_gpus(mix) and not last.outlook.foreseen


def _asks_gpus(mix: Mix) -> bool:
    return bool(mix.demand.any())


def _open_nodes(snapshot: Snapshot) -> list[Nodes]:
    return [one.nodes for one in snapshot.clusters if one.state in TAKES_WORK]
