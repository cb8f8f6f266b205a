"""What the boosted trees see of a history: one row of numbers per function and level, from minutes before now only.

The kernels are pure functions of the sparse history, so nothing is learned or kept between ticks and a restart changes
nothing. Only hits before the minute asked for are read, whatever the arrays hold: no look-ahead by construction.
Imports numba: workers, the replay and training only, never the service process.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from prewarm.domain import Float32Array, InputError, Int32Array
from prewarm.forecast.levels import feature_contexts as contexts
from prewarm.forecast.levels import feature_gaps as gaps_of
from prewarm.forecast.levels import feature_marks as marks_of
from prewarm.forecast.levels import feature_orders as orders_of
from prewarm.forecast.levels import feature_periods as periods
from prewarm.forecast.levels import feature_upper as upper
from prewarm.forecast.levels.feature_gaps import FACTS, Array, compiled
from prewarm.forecast.levels.feature_table import GROUPS, MARGIN, NAMES, STARTS, WINDOW
from prewarm.forecast.levels.history_view import SparseHistory

_BLOCKS = 64  # rows are dealt to threads in so many parts
_NEAR_FULL = 0.5  # a level never needed is offered when the level below was used more than this
_GROUP = {name: int(at) for name, at in zip(GROUPS, STARTS, strict=False)}
_RECENCY, _WINDOWS, _GAPS, _HAZARD = (_GROUP[name] for name in ("recency", "windows", "gaps", "hazard"))
_ORDERS, _LAGS, _STEPS, _SCAN = (_GROUP[name] for name in ("orders", "lags", "steps", "scan"))
_SUFFIX, _ANALOGS = _GROUP["suffix"], _GROUP["analogs"]
_MARKS, _UPPER = _GROUP["marks"], _GROUP["upper"]
_WIDTH = len(NAMES)


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked: row and level (from 1) of a history, the minute now, and how many minutes ahead (0 = now).

    All int32 of one length. P(N >= level) is wanted for minute now + ahead, from hits at minutes before now.
    """

    row: Int32Array
    level: Int32Array
    now: Int32Array
    ahead: Int32Array

    def __post_init__(self) -> None:
        if not (self.row.size == self.level.size == self.now.size == self.ahead.size):
            raise InputError("questions: row, level, now and ahead must have one length")


def feature_rows(history: SparseHistory, asked: Questions) -> Float32Array:
    """Features (questions, len(NAMES)) float32, columns as in `feature_table.NAMES`; NaN what cannot be known."""
    out = np.empty((asked.row.size, _WIDTH), np.float32)
    hits = (history.hit_minute, history.hit_need.astype(np.int32, copy=False), history.marks)
    _fill_all(hits, history.indptr, history.since, (asked.row, asked.level, asked.now, asked.ahead), out)
    return out


def open_questions(history: SparseHistory) -> Questions:
    """Every level that may be needed: 1 to the highest need seen in the window, and one more where that was near.

    A level never needed yet is asked for only where the marks are concurrencies (never above the need, and not whole
    numbers throughout, as counts are) and the level below was more than half used. Sorted by row, then level.
    """
    needs = history.hit_need.astype(np.int32, copy=False)
    top = _top_levels(history.hit_minute, needs, history.marks, history.indptr, history.now_minute)
    row = np.repeat(np.arange(history.rows, dtype=np.int32), top)
    starts = np.cumsum(top) - top
    level = (np.arange(row.size) - np.repeat(starts, top) + 1).astype(np.int32)
    now = np.full(row.size, history.now_minute, np.int32)
    return Questions(row, level, now, np.zeros(row.size, np.int32))


@compiled  # type: ignore[untyped-decorator]
def _top_levels(minutes: Array, needs: Array, marks: Array, indptr: Array, now: int) -> Array:
    top = np.ones(indptr.size - 1, np.int64)
    for row in range(top.size):
        highest, fullest, concurrency, broken = 0, 0.0, True, False
        for i in range(indptr[row + 1] - 1, indptr[row] - 1, -1):
            if minutes[i] >= now:
                continue
            if minutes[i] < now - WINDOW:
                break
            highest = max(highest, needs[i])
            fullest = max(fullest, marks[i])
            concurrency = concurrency and marks[i] <= needs[i]
            broken = broken or marks[i] != np.floor(marks[i])
        near = concurrency and broken and fullest > highest - 1 + _NEAR_FULL
        top[row] = max(1, highest + (1 if near else 0))
    return top


@numba.njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _fill_all(hits: Array, indptr: Array, since: Array, asked: Array, out: Array) -> None:
    rows, levels, nows, aheads = asked
    minutes, needs, marks = hits
    for block in numba.prange(_BLOCKS):
        scratch = (
            np.zeros(WINDOW + MARGIN, np.uint8),
            np.zeros(WINDOW + MARGIN, np.float64),
            np.zeros(WINDOW + 2, np.int32),
            np.zeros(WINDOW + 2, np.int32),
        )
        facts = np.zeros(FACTS, np.int64)
        line = np.empty(_WIDTH, np.float64)
        for i in range(block * rows.size // _BLOCKS, (block + 1) * rows.size // _BLOCKS):
            row = rows[i]
            start, end = indptr[row], indptr[row + 1]
            end = start + np.searchsorted(minutes[start:end], nows[i])
            line[:] = np.nan
            when = (since[row], nows[i], aheads[i], levels[i])
            _fill_one((minutes[start:end], needs[start:end], marks[start:end]), when, facts, scratch, line)
            for j in range(_WIDTH):
                out[i, j] = line[j]


@compiled  # type: ignore[untyped-decorator]
def _fill_one(hits: Array, when: Array, facts: Array, scratch: Array, line: Array) -> None:
    """One question. hits: minutes, needs and marks, all before now; when: since, now, ahead, level."""
    minutes, needs, marks = hits
    since, now, ahead, level = when
    x, base, gaps, histogram = scratch
    first = gaps_of.facts_of(minutes, since, now, ahead, facts)
    known = facts[0]
    if known <= 0:
        return
    minutes, needs, marks = minutes[first:], needs[first:], marks[first:]
    latest = facts[3]
    x[: max(known, 64) + 3] = 0
    own = minutes
    if level > 1:
        own = minutes[needs >= level]
        gaps_of.facts_of(own, since, now, ahead, facts)
        facts[7] = latest
    for i in range(own.size):
        x[now - own[i]] = 1
    gaps_of.fill_gaps(own, gaps)
    _fill_own(x, gaps, histogram, facts, line)
    if minutes.size == 0:
        return
    base[: max(known, 64) + 3] = 0.0
    for i in range(minutes.size):
        base[now - minutes[i]] = marks[i]
    _fill_marks(x, base, (minutes, marks), facts, (level, line))


@compiled  # type: ignore[untyped-decorator]
def _fill_own(x: Array, gaps: Array, histogram: Array, facts: Array, line: Array) -> None:
    """The groups that look at the level's own 0/1 past."""
    gaps_of.recency(x, gaps, facts, line[_RECENCY:_WINDOWS])
    if facts[1] == 0:
        return
    gaps_of.windows(gaps, facts, line[_WINDOWS:_GAPS])
    for i in range(facts[2]):
        histogram[gaps[i]] += 1
    gaps_of.gap_statistics(gaps, facts, histogram, line[_GAPS : _GAPS + 10])
    gaps_of.recent_gaps(gaps, facts, line[_GAPS + 10 : _HAZARD])
    gaps_of.hazards(gaps, facts, line[_HAZARD:_ORDERS])
    orders_of.orders(gaps, facts, line[_ORDERS:_LAGS])
    periods.lags(x, facts, line[_LAGS:_STEPS])
    periods.steps(x, facts, line[_STEPS:_SCAN])
    periods.scan(x, facts, line[_SCAN : _SCAN + 14])
    periods.chains(x, gaps, facts, line[_SCAN + 14 : _SUFFIX])
    for i in range(facts[2]):
        histogram[gaps[i]] = 0
    if facts[1] >= 2 and facts[0] >= 8:
        suffix = np.zeros((contexts.BITS + 1, 2), np.int64)
        analog = np.zeros((5, 2))
        contexts.compare(x, facts, suffix, analog)
        contexts.suffixes(facts, suffix, line[_SUFFIX:_ANALOGS])
        contexts.analogs(facts, analog, line[_ANALOGS:_MARKS])


@compiled  # type: ignore[untyped-decorator]
def _fill_marks(x: Array, base: Array, hits: Array, facts: Array, target: Array) -> None:
    """The groups that look at the marks; the hazards by mark are the first level's, the use is the upper levels'."""
    minutes, marks = hits
    level, line = target
    ordered = np.sort(marks[-marks_of.MARKS_SORTED :])
    group = line[_MARKS:_UPPER]
    marks_of.mark_levels(base, marks, ordered, facts[0], group)
    if level == 1:
        marks_of.mark_hazards(minutes, marks, facts, group[14:21])
    marks_of.mark_chains(base, minutes, ordered, facts, group[21:26])
    if minutes.size >= 3:
        marks_of.level_regression(base, x, facts, group[26:28])
    if level > 1:
        bound = float(level - 1)
        upper.use(base, marks, bound, facts, line[_UPPER:])
        upper.below(base, bound, facts, line[_UPPER:])
        upper.after_like(base, x, facts, line[_UPPER:])
