"""Who judges node states for the forecast mix: a thread where there is little to judge, else a process of its own.

Judging is numpy on small arrays, which holds the interpreter, and so does a thread that decisions have to share it
with. A new mix over a large fleet is some ten thousand judgements: worth the half second that a process takes to start.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from federation.placement.fleet.compiled import FleetColumns
from federation.placement.packing.changes import AT_A_TIME, Changes, Question, Shape, Task, judged
from prewarm.domain import FloatArray
from prewarm.forecast.pool import FitPool

log = logging.getLogger("federation.desk")
MUCH = 1_024
"""Judgements (a state for a shape, by one measure) that are worth a process: some 100 ms where room is foreseen."""
AT_A_TIME_APART = 4_096
"""The same in one piece of its work: long enough that asking costs little, short enough to be used soon."""
MOST_PIECES = 200
"""Pieces of work in one round, each some hundred states for one shape or more."""
PIECE_S = 60.0
"""A process that takes longer for a piece is given up."""
REST, LONGEST_REST_S = 2.0, 1.0
"""After each piece a thread rests so many times as long as it worked, since decisions share its processor."""

Judge = Callable[[Task], Awaitable[FloatArray | None]]
"""The gains that a task asks for; None where whoever was to find them is gone."""


async def judge_missing(memos: Sequence[Changes], shapes: Sequence[Shape], fleet: Callable[[], FleetColumns]) -> None:
    """Judge what is missing for these shapes, the first of them first; `fleet` is asked anew for each piece."""
    if sum(memo.lacking(fleet(), shapes) for memo in memos) > MUCH:
        try:
            async with FitPool(1, preload=(judged.__module__,), spare=True) as pool:
                if await _pieces(memos, shapes, fleet, _Apart(pool), AT_A_TIME_APART):
                    return
        except OSError as error:  # no process to be had
            log.warning("nodes are judged beside decisions: %s", error)
    await _pieces(memos, shapes, fleet, _beside, AT_A_TIME)


async def _pieces(
    memos: Sequence[Changes], shapes: Sequence[Shape], fleet: Callable[[], FleetColumns], judge: Judge, most: int
) -> bool:
    """Piece by piece; False where the judge is gone before all is judged."""
    for _ in range(MOST_PIECES):
        known = fleet()
        tasks = [(memo, task) for memo in memos if (task := memo.missing(known, shapes, most)) is not None]
        if not tasks:
            break
        for memo, task in tasks:
            if (found := await judge(task)) is None:
                return False
            memo.learn(task, found)
    return True


async def _beside(task: Task) -> FloatArray:
    found, spent_s = await asyncio.to_thread(_timed, task.question)
    await asyncio.sleep(min(REST * spent_s, LONGEST_REST_S))
    return found


def _timed(question: Question) -> tuple[FloatArray, float]:
    """The gains, and the seconds that they took."""
    begin = time.perf_counter()
    return judged(question), time.perf_counter() - begin


class _Apart:
    """The worker of a pool as a judge."""

    def __init__(self, pool: FitPool) -> None:
        self._pool = pool

    async def __call__(self, task: Task) -> FloatArray | None:
        outcome = await self._pool.run(judged, task.question, budget_s=PIECE_S)
        found: FloatArray | None = outcome.value
        return found
