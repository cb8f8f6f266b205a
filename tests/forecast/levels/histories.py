"""Small histories for the level model's tests: timers, bursts and rows of nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prewarm.forecast.levels.history_view import SparseHistory

Hits = Sequence[tuple[int, float]]


def history_of(rows: Sequence[Hits], now: int, since: int = 0) -> SparseHistory:
    """A history from (minute, mark) pairs per row; the need is the mark, rounded up."""
    minute = np.array([minute for hits in rows for minute, _ in hits], np.int32)
    mark = np.array([mark for hits in rows for _, mark in hits], np.float32)
    indptr = np.cumsum([0, *(len(hits) for hits in rows)]).astype(np.int64)
    need = np.ceil(mark).astype(np.int16)
    return SparseHistory(minute, need, indptr, np.full(len(rows), since, np.int32), now, mark)


def timer(period: int, until: int, mark: float = 1.0) -> Hits:
    """A hit every `period` minutes from minute 0, before `until`."""
    return [(minute, mark) for minute in range(0, until, period)]
