"""What the experts would have said in every minute of a trace, asked in large batches.

The service asks once a minute about all functions. A replay of a day would pay the models' fixed costs 1,440 times, so
here the very same kernels are asked about many minutes at a time; each question reads only what was before its own
minute, and a test compares the answers with those of asking minute by minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from prewarm.domain import BoolArray, Float32Array, FloatArray, Int32Array, IntArray
from prewarm.forecast.experts.opinions import EXPERTS, Opinions, ask_calendar
from prewarm.forecast.levels.feature_table import WINDOW
from prewarm.forecast.levels.features import Questions
from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.sim.minute import highest_before


class ChanceModel(Protocol):
    """Whatever answers questions about levels: the trees, or the trees with the network."""

    def chances(self, history: SparseHistory, asked: Questions) -> Float32Array:
        """P(N >= level) for each question."""
        ...


BATCH = 120_000  # questions at a time: some 120 MB of features
DAY = 1440


@dataclass(frozen=True, slots=True)
class Past:
    """A trace as the models see it. need: (n, T); mark: (n, T) what was asked, 0 where nothing was; since: (n,) first
    known minute of each function; epoch_minute: minutes since the epoch at column 0, for weekdays."""

    need: Int32Array
    mark: Float32Array
    since: Int32Array
    epoch_minute: int

    def history(self) -> SparseHistory:
        """All of it in compressed rows; whoever asks about a minute reads only what was before it."""
        row, minute = np.nonzero(self.need > 0)
        indptr = np.searchsorted(row, np.arange(len(self.need) + 1)).astype(np.int64)
        return SparseHistory(
            (minute + self.epoch_minute).astype(np.int32),
            self.need[row, minute].astype(np.int16),
            indptr,
            (self.since + self.epoch_minute).astype(np.int32),
            self.epoch_minute + self.need.shape[1],
            self.mark[row, minute],
        )


def opinions_by_minute(
    past: Past,
    model: ChanceModel,
    *,
    span: tuple[int, int] | None = None,
    calendar: bool = True,
    told: Callable[[float], None] | None = None,
) -> Iterator[Opinions]:
    """The opinions on each minute of `span` (all of the trace) in order; `told` hears the share done."""
    history, top = past.history(), top_levels(past)
    begin, end = span or (0, past.need.shape[1])
    first = begin
    while first < end:
        width = max(1, BATCH // max(1, int(top[:, first].sum())))
        last = min(first + width, end)
        yield from _batch(past, history, model, calendar=calendar, top=top[:, first:last], first=first)
        first = last
        if told is not None:
            told((first - begin) / (end - begin))


def top_levels(past: Past) -> IntArray:
    """Levels to ask about in each minute, (n, T): as `open_questions` chooses them, from the minutes before."""
    need, mark = past.need, past.mark
    highest, fullest = highest_before(need, WINDOW), highest_before(mark, WINDOW)
    counted = highest_before(mark > need, WINDOW)
    broken = highest_before(mark != np.floor(mark), WINDOW)
    near = broken & ~counted & (fullest > highest - 0.5)
    top: IntArray = np.maximum(1, highest.astype(np.int64) + near)
    return top


def _batch(
    past: Past, history: SparseHistory, model: ChanceModel, *, calendar: bool, top: IntArray, first: int
) -> Iterator[Opinions]:
    """All questions of some minutes, sorted by minute, row, level."""
    rows, width = top.shape
    levels = top.T.reshape(-1)  # minute by minute, row by row
    row = np.repeat(np.tile(np.arange(rows, dtype=np.int32), width), levels)
    minute = np.repeat(np.repeat(np.arange(first, first + width), rows), levels)
    level = (np.arange(len(row)) - np.repeat(np.cumsum(levels) - levels, levels) + 1).astype(np.int32)
    now = (minute + past.epoch_minute).astype(np.int32)
    asked = Questions(row, level, now, np.zeros(len(row), np.int32))
    chance = np.full((len(row), len(EXPERTS)), np.nan, np.float32)
    chance[:, 0] = model.chances(history, asked)
    edges = np.searchsorted(minute, np.arange(first, first + width + 1))
    for low, high in pairwise(edges.tolist()):
        if calendar and int(minute[low]) >= DAY + int(past.since.min()):
            pairs = np.column_stack([row[low:high], level[low:high]])
            chance[low:high, 1:] = ask_calendar(history, pairs, int(now[low]))
        yield Opinions(row[low:high], level[low:high], chance[low:high], EXPERTS)


def known_since(unknown: BoolArray | None, shape: tuple[int, int]) -> Int32Array:
    """First known minute of each function, (n,); its number of minutes where none is."""
    if unknown is None:
        return np.zeros(shape[0], np.int32)
    first: IntArray = np.where(unknown.all(axis=1), shape[1], np.argmin(unknown, axis=1))
    return first.astype(np.int32)


def marks_of(concurrency: FloatArray, need: Int32Array) -> Float32Array:
    """What was asked in each minute, 0 where nothing was needed."""
    return np.where(need > 0, concurrency, 0.0).astype(np.float32)
