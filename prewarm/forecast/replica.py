"""A worker's own copy of the recent hits, so that a tick sends it one minute and not a day.

Fifty thousand functions have some fourteen million hits a day; carrying those to the worker for every decision would
cost more than deciding. The copy holds closed minutes (no late count reaches them any more); every question brings all
hits of the minutes that are still open, which are laid behind the closed ones for that question only. A copy that has
missed something says how far it reaches and is brought up to date: it is a cache, the service's history is the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, Int32Array, IntArray
from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.history.arena import RowArena
from prewarm.history.ragged import flat_index, pointers
from prewarm.history.view import HitView

BLOCK_ROWS = 1024
SLACK = 64  # room a row gets beyond its hits before its block is laid out anew


@dataclass(frozen=True, slots=True)
class Question:
    """All hits in [first, tail.now_minute) in `tail`, of which minutes before `close` change no more.

    capacity: (n,) calls that one instance serves at a time. window_min: how far back the answer may look.
    """

    tail: HitView
    first: int
    close: int
    capacity: FloatArray
    window_min: int


@dataclass(frozen=True, slots=True)
class Behind:
    """The copy ends at minute `reaches` (None: it is empty), before the question's first minute."""

    reaches: int | None


class Replica:
    """Closed hits of all functions in blocks of rows."""

    def __init__(self) -> None:
        self._blocks: list[RowArena] = []
        self.reaches: int | None = None
        """Minutes before this one are held and closed."""

    def load(self, view: HitView, until: int) -> None:
        """Start anew from all hits of `view` before minute `until`."""
        self._blocks, self.reaches = [], until
        self._extend(view, -(1 << 30), until)

    def in_parts(self, question: Question, blocks: int) -> Iterator[HitView] | Behind:
        """The hits of the window before the question's minute, or how far the copy reaches where that is too little; so
        many blocks of functions at a time, each a view of its own: whoever works on them needs memory for one.
        """
        if self.reaches is None or self.reaches < question.first:
            return Behind(self.reaches)
        self._extend(question.tail, self.reaches, question.close)
        self.reaches = max(self.reaches, question.close)
        for arena in self._blocks:
            arena.start = arena.position(question.tail.now_minute - question.window_min)
        return self._read(question, self.reaches, blocks)

    def _extend(self, view: HitView, first: int, until: int) -> None:
        self._grow(len(view))
        chosen = (view.hit_minute >= first) & (view.hit_minute < until)
        for arena, lengths, part in self._parts(view, chosen):
            arena.extend(lengths, *part)

    def _read(self, question: Question, reaches: int, blocks: int) -> Iterator[HitView]:
        tail, now = question.tail, question.tail.now_minute
        parts = self._parts(tail, (tail.hit_minute >= reaches) & (tail.hit_minute < now))
        since = np.maximum(tail.since, now - question.window_min).astype(np.int32)
        for first in range(0, len(parts), blocks):
            found = []
            for arena, more, part in parts[first : first + blocks]:
                arena.write_ahead(more, *part)
                lengths = arena.end - arena.start + more
                index = flat_index(arena.start, lengths)
                minute = (arena.offset[index].astype(np.int32) + np.int32(arena.origin)).astype(np.int32)
                found.append((lengths, minute, arena.count[index], arena.concurrency[index]))
            lengths, minute, count, running = (np.concatenate(column) for column in zip(*found, strict=True))
            known = since[first * BLOCK_ROWS : (first + blocks) * BLOCK_ROWS]
            yield HitView(minute, count, running, pointers(lengths[: len(known)]), known, now)

    def _grow(self, rows: int) -> None:
        while len(self._blocks) * BLOCK_ROWS < max(rows, 1):
            self._blocks.append(RowArena(BLOCK_ROWS, SLACK))

    def _parts(
        self, view: HitView, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> list[tuple[RowArena, IntArray, tuple[IntArray, np.ndarray, np.ndarray]]]:
        """For each block: its arena, the number of chosen hits a row, and their minutes, counts and concurrencies."""
        before = np.concatenate(([0], np.cumsum(chosen)))
        pointer = before[np.minimum(view.indptr, len(chosen))]
        minute, count = view.hit_minute[chosen].astype(np.int64), view.hit_count[chosen]
        running = view.hit_concurrency[chosen]
        parts = []
        for number, arena in enumerate(self._blocks):
            edge = pointer[np.minimum(np.arange(BLOCK_ROWS + 1) + number * BLOCK_ROWS, len(view))]
            cut = slice(int(edge[0]), int(edge[-1]))
            parts.append((arena, np.diff(edge), (minute[cut], count[cut], running[cut])))
        return parts


def sparse_history(view: HitView, capacity: FloatArray) -> SparseHistory:
    """Hits as needs: calls running at a time over what one instance serves, at least one. capacity: (n,)."""
    running = view.hit_concurrency
    told = ~np.isnan(running)
    need = np.ones(running.size, np.int16)
    over = told & (running > 1e-3)
    per_hit = np.repeat(capacity.astype(np.float32), np.diff(view.indptr))
    need[over] = np.clip(np.ceil(running[over] / per_hit[over]), 1, 30_000).astype(np.int16)
    mark = np.where(told, running, view.hit_count).astype(np.float32)
    since: Int32Array = view.since
    return SparseHistory(view.hit_minute, need, view.indptr, since, view.now_minute, mark)
