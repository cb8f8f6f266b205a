"""The oracle that the service asks: the learned model in a worker process, the calendar, callers, announcements.

What it carries from minute to minute is the frozen `Memory` of `prewarm.foresight`. The worker keeps a
copy of the recent hits and is sent what is new; one that dies or is late costs that tick, in which the plain rule
decides and says why, and its successor is sent everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from prewarm.domain import BoolArray, FloatArray, Int32Array, PolicyTag
from prewarm.forecast.experts.opinions import EXPERTS, Opinions, rule_opinions
from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.forecast.live import load, opinions
from prewarm.forecast.pool import FitPool
from prewarm.forecast.replica import Behind, Question, sparse_history
from prewarm.foresight import Announcement, Memory, empty_memory, foresee, remember, with_functions
from prewarm.history import HitView
from prewarm.loop.fleet import Fleet
from prewarm.loop.tick import Chances

PRELOAD = ("prewarm.forecast.live", "prewarm.forecast.levels.blend", "prewarm.forecast.experts.calendar_kernel")
RULE_MINUTES = 10
RULE = f"keep-alive of {RULE_MINUTES} minutes"
VERSION = "1"
CALENDAR_FUNCTIONS = 5_000
"""Above so many functions the copy of more than a day would cost more memory than the calendar is worth."""
LARGE_FLEET_WINDOW_MIN = 1_440 + 30


@dataclass(slots=True)
class LevelOracle:
    """Chances of every function for the coming minute; falls back to the plain rule by itself."""

    fleet: Fleet
    pool: FitPool
    budget_s: float = 20.0
    memory: Memory = field(default_factory=lambda: empty_memory(len(EXPERTS)))
    remembered: int = -1
    """The last minute that went into the memory."""

    @property
    def window_min(self) -> int:
        """What is sent at each tick: the minutes that late counts may still reach, and those that the rule reads."""
        return int(self.fleet.settings.retention.late_s // 60) + 1 + RULE_MINUTES

    @property
    def worker_window_min(self) -> int:
        """What the worker looks at: all that is kept at minute grain; of a large fleet a day, and its edges."""
        kept = int(self.fleet.settings.retention.minute_days * 1440)
        return kept if len(self.fleet.rows) <= CALENDAR_FUNCTIONS else min(kept, LARGE_FLEET_WINDOW_MIN)

    async def chances(self, view: HitView, now: float) -> Chances:
        """What is expected of the minute that begins at `now`, and who says so. `view`: hits of the last minutes."""
        capacity = self.fleet.capacity()
        recent = sparse_history(view, capacity)
        self._remember(recent)
        rule = rule_opinions(recent)
        said, why = await self._ask(view, capacity)
        heard = _widened(rule) if said is None else said
        told, self.memory = foresee(self.memory, heard, self._announced(now), by_rule=said is None)
        return Chances(
            levels=told,
            tag=PolicyTag("prewarm", VERSION, rule_decided=said is None, why=why),
            model=RULE if said is None else "boosted",
            rule=_Plain(rule.row, rule.level, rule.chance[:, 0]),
            because=told,
        )

    async def _ask(self, view: HitView, capacity: FloatArray) -> tuple[Opinions | None, str | None]:
        """The worker's opinions, or why there are none; a worker that is behind is sent the whole window first."""
        history, now_minute = self.fleet.history, view.now_minute
        first = now_minute - self.window_min
        question = Question(view, first, min(history.first_open, now_minute), capacity, self.worker_window_min)
        for _ in range(2):
            outcome = await self.pool.run(opinions, question, budget_s=self.budget_s)
            if outcome.status != "done":
                return None, outcome.reason
            if not isinstance(outcome.value, Behind):
                return outcome.value, None
            whole = history.sparse(now_minute, self.worker_window_min)
            sent = await self.pool.run(load, (whole, question.close), budget_s=self.budget_s)
            if sent.status != "done":
                return None, sent.reason
        return None, "the worker lost its copy of the history"

    def _remember(self, history: SparseHistory) -> None:
        """Fold the minute that ended into the memory, once."""
        rows = self.fleet.rows
        if len(rows) != self.memory.graph.size or self.fleet.calls != self._calls:
            self.memory = with_functions(self.memory, self.fleet.calls, rows, step_s=60.0)
            self._calls = tuple(self.fleet.calls)
        ended = history.now_minute - 1
        if ended <= self.remembered:
            return
        self.remembered = ended
        need, known = self._last_minute(history, ended)
        self.memory = remember(self.memory, need, known)

    _calls: Sequence[object] = ()

    def _last_minute(self, history: SparseHistory, minute: int) -> tuple[Int32Array, BoolArray]:
        everybody = np.arange(history.rows, dtype=np.int32)
        counts = self.fleet.history.dense(everybody, minute + 1, minutes=1)[:, 0]
        ends = history.indptr[1:]
        hit = ends > history.indptr[:-1]
        hit[hit] = history.hit_minute[ends[hit] - 1] == minute
        need = np.zeros(history.rows, np.int32)
        need[hit] = np.asarray(history.hit_need)[ends[hit] - 1].astype(np.int32)
        return need, ~np.isnan(counts)

    def _announced(self, now: float) -> tuple[Announcement, ...]:
        """Events that touch the coming minute or the start-up after it, so that instances are ready when they begin."""
        found = []
        start_s = self.fleet.policy_table().columns.start_s
        for event in self.fleet.settings.event:
            rows = [
                row
                for key, row in self.fleet.rows.items()
                if fnmatchcase(key, event.function) and event.covers(now, now + 60.0 + float(start_s[row]))
            ]
            if rows:
                found.append(Announcement(event.name, np.array(rows, np.int32), event.need, event.sure, event.spread))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _Plain:
    row: Int32Array
    level: Int32Array
    p: np.ndarray[tuple[int], np.dtype[np.float32]]


def _widened(opinions: Opinions) -> Opinions:
    """The rule's opinion in the place of the learned model's, the other experts having none."""
    chance = np.full((len(opinions.row), len(EXPERTS)), np.nan, np.float32)
    chance[:, 0] = opinions.chance[:, 0]
    return Opinions(opinions.row, opinions.level, chance, (opinions.experts[0], *EXPERTS[1:]))
