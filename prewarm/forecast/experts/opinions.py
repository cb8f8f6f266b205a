"""All experts asked at once: the learned level model, then what the calendar says.

`ask` loads lightgbm and numba when it is first called, so it belongs in a worker process or a simulation; the values
themselves need numpy only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from prewarm.domain import Float32Array, Int32Array
from prewarm.forecast.levels.history_view import LevelProbabilities, SparseHistory

if TYPE_CHECKING:
    from prewarm.forecast.levels.blend import BlendedLevels

HALF_WIDTHS = (0, 3, 25)  # minutes on each side of the same time on an earlier day
CHOICES = ("all days", "same kind of day", "same weekday")
CALENDAR = tuple(f"{choice}, +-{width} min" for choice in CHOICES for width in HALF_WIDTHS)
CALENDAR_DAYS = 14
EXPERTS = ("learned model", *CALENDAR)


@dataclass(frozen=True, slots=True)
class Opinions:
    """P(N >= level) of the coming step by each expert: row, level (m,), chance (m, E), NaN where it has no opinion.

    Sorted by row, then level, from level 1 on without gaps; the first column is the learned model's.
    """

    row: Int32Array
    level: Int32Array
    chance: Float32Array
    experts: tuple[str, ...]


def ask(history: SparseHistory) -> Opinions:
    """What every expert says of `history.now_minute` (minutes since the epoch), from the minutes before it."""
    return with_calendar(history, shipped_model().p_at_least(history))


def joined(parts: Sequence[Opinions], rows: int) -> Opinions:
    """Opinions on the functions one part after another, each part but the last of `rows` functions, as of one fleet."""
    row = np.concatenate([part.row + np.int32(number * rows) for number, part in enumerate(parts)])
    level = np.concatenate([part.level for part in parts])
    return Opinions(row, level, np.concatenate([part.chance for part in parts]), parts[0].experts)


def with_calendar(history: SparseHistory, said: LevelProbabilities) -> Opinions:
    """The learned model's probabilities beside the calendar's, for the same functions and levels."""
    pairs = np.column_stack([said.row, said.level]).astype(np.int32)
    chances = ask_calendar(history, pairs, history.now_minute)
    return Opinions(pairs[:, 0], pairs[:, 1], np.column_stack([said.p.astype(np.float32), chances]), EXPERTS)


def ask_calendar(history: SparseHistory, pairs: Int32Array, now_minute: int) -> Float32Array:
    """What the calendar says of (function, level) `pairs` (m, 2) at `now_minute`: (m, 9), NaN for no opinion."""
    from prewarm.forecast.experts.calendar_kernel import calendar_chances

    hits = (history.hit_minute, np.asarray(history.hit_need, dtype=np.int32), history.indptr)
    said: Float32Array = calendar_chances(hits, history.since, pairs, now_minute, CALENDAR_DAYS)
    return said


@cache
def shipped_model() -> BlendedLevels:
    """The learned model as shipped, loaded once in a process."""
    from prewarm.forecast.levels.blend import BlendedLevels

    return BlendedLevels.load()


def rule_opinions(history: SparseHistory, keep_minutes: int = 10) -> Opinions:
    """The plain rule as an opinion: what was needed in the last `keep_minutes` is needed again. Numpy only."""
    recent = history.hit_minute >= history.now_minute - keep_minutes
    recent &= history.hit_minute < history.now_minute
    owner = np.repeat(np.arange(history.rows), np.diff(history.indptr))
    need = np.zeros(history.rows, np.int64)
    np.maximum.at(need, owner[recent], np.asarray(history.hit_need)[recent].astype(np.int64))
    levels = np.maximum(need, 1)
    row = np.repeat(np.arange(history.rows), levels).astype(np.int32)
    start = np.repeat(np.cumsum(levels) - levels, levels)
    level = (np.arange(len(row)) - start + 1).astype(np.int32)
    p = (level <= need[row]).astype(np.float32)
    return Opinions(row, level, p[:, None], ("last 10 minutes",))
