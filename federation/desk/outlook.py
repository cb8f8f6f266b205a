"""The forecast mix in the service: made anew as work changes, judged in a worker thread, and only then put in force.

No decision waits. A round looks at what is known; where the mix has changed enough it is made anew in a thread and its
node states are judged for the shapes in use, while decisions go on with the one in force. In between, rounds judge the
states that appeared. Memos are changed on the event loop only; threads get values and give values back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from federation.desk.desk import FleetDesk
from federation.desk.mixed import Mixed
from federation.desk.wanted import TAKES_WORK, work_in
from federation.nodes.outlook import Outlook, distance, outlook_of
from federation.placement.packing.changes import MOST_STATES, Shape, Task, shape_of
from federation.placement.reserve.book import Book
from federation.placement.workload import Workload
from federation.snapshot import Snapshot
from prewarm.domain import FloatArray, PrewarmError

log = logging.getLogger("federation.desk")
ROUND_S = 1.0
MATERIAL = 0.1
"""Share of the mix that must have changed for it to be made anew before its time."""
STEADY = 0.02
"""Where the mix changed by less, and what is to come by less than five times this, judgements stay in force."""
MOST_SHAPES = 64
"""Shapes that are judged before anybody asks: those asked for lately, then the most frequent of the mix."""
MOST_PIECES = 200
"""Pieces of work in one round, of up to 512 states each."""
REST, LONGEST_REST_S = 2.0, 1.0
"""After each piece the thread rests so many times as long as it worked, since decisions share its processor."""


@dataclass(slots=True)
class Outlooks:
    """The rounds of one desk."""

    desk: FleetDesk
    accidents: int = 0
    """Rounds that ended by an error of ours."""
    _read: dict[str, tuple[object, Workload]] = field(default_factory=dict)

    async def run(self) -> None:
        """For ever; a round that fails is logged, and the mix stays as it was."""
        while True:
            try:
                await self.round()
            except Exception:  # the outermost loop of the outlook: placements go on with what is in force
                self.accidents += 1
                log.exception("the forecast mix of placement stays as it was")
            await asyncio.sleep(ROUND_S)

    async def round(self) -> None:
        """Make the outlook anew where it is due; judge what nobody has judged."""
        desk, now, last = self.desk, self.desk.now(), self.desk.mixed
        policy, snapshot = desk.demand.settings.placement, desk.look()
        book, placed, forecast = desk.placer.book, self._placed(), self._forecast()
        made, shapes = await asyncio.to_thread(_made, snapshot, book, placed, forecast, policy.outlook_load)
        if made is None:
            desk.mixed = None
        elif last is None or _differs(made, last, now, policy.outlook_s):
            fresh = Mixed.of(made, now)
            await self._judge(fresh, (*(last.future_fill.shapes[::-1] if last is not None else ()), *shapes))
            desk.mixed = fresh
        else:
            await self._judge(last, last.future_fill.shapes[::-1])

    async def _judge(self, mixed: Mixed, shapes: Iterable[Shape]) -> None:
        """Judge in a thread what is missing for these shapes, piece by piece; the first of them first."""
        wanted = tuple(dict.fromkeys(shapes))[:MOST_SHAPES]
        for _ in range(MOST_PIECES):
            fleet = self.desk.placer.fleet
            tasks = [(memo, task) for memo in mixed.memos if (task := memo.missing(fleet, wanted)) is not None]
            if not tasks:
                return
            for memo, task in tasks:
                gains, spent_s = await asyncio.to_thread(_timed, task)
                memo.learn(task, gains)
                await asyncio.sleep(min(REST * spent_s, LONGEST_REST_S))

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


def _timed(task: Task) -> tuple[FloatArray, float]:
    """The gains, and the seconds that they took."""
    begin = time.perf_counter()
    return task.judged(), time.perf_counter() - begin


def _made(
    snapshot: Snapshot, book: Book, placed: Mapping[str, Workload], forecast: Mapping[str, int], load: float
) -> tuple[Outlook | None, list[Shape]]:
    """The outlook, and the shapes that it was made from, the most wanted first."""
    work = work_in(snapshot, book, placed, forecast)
    nodes = [one.nodes for one in snapshot.clusters if one.state in TAKES_WORK]
    shapes = [shape_of(one.requests, one.gpu) for one in sorted(work.wanted, key=lambda one: -one.wanted)]
    return outlook_of(work.wanted, nodes, load=load, unknown=work.unknown), shapes


def _differs(made: Outlook, last: Mixed, now: float, outlook_s: float) -> bool:
    """Whether it is worth judging every node anew."""
    changed = distance(made.mix, last.outlook.mix)
    if changed > MATERIAL or last.future_fill.states > MOST_STATES // 2:
        return True
    if now - last.at < outlook_s:
        return False
    moved = abs(made.arrivals - last.outlook.arrivals) > 5 * STEADY * max(last.outlook.arrivals, 1.0)
    return changed > STEADY or moved
