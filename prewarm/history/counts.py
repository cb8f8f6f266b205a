"""Counts per function in memory: what is known of the demand of the last two weeks, at the grain that is needed.

Minutes that late counts may still reach are open and dense (`OpenMinute`); older ones are closed into blocks of sparse
rows (`Block`) that coarsen with age; `KnownRuns` keeps apart "no calls" and "nobody looked". Nothing here reads a
clock: `now_minute` is an argument, and values of it that cannot be true are doubted (`ClockGuard`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import DataState, Float32Array, FloatArray, InputError, Int32Array
from prewarm.history.batch import MinuteBatch
from prewarm.history.block import BLOCK_ROWS, Block
from prewarm.history.clock import ClockGuard
from prewarm.history.known import KnownRuns, KnownSet
from prewarm.history.minute import OpenMinute
from prewarm.history.reading import Counts, Quantity, read_dense, read_hits
from prewarm.history.retention import Retention
from prewarm.history.segment import Segment, load_segments
from prewarm.history.view import HitView

NEVER = int(np.iinfo(np.int32).min)
DATA_STATES = (DataState.OK, DataState.PARTIAL, DataState.STALE, DataState.NONE)
"""What the codes of `History.data_state` stand for."""
_MINUTE_S = 60


class History:
    """Counts of many functions by minute; a function's index never changes and is never used again.

    For one thread: reading writes too (`sparse` lays open minutes out behind the closed ones).
    """

    def __init__(self, retention: Retention, start_minute: int) -> None:
        """Nothing is known from `start_minute` on, nor before."""
        self.retention = retention
        self.blocks: list[Block] = []
        self.known = KnownRuns(start_minute)
        self.open: dict[int, OpenMinute] = {}
        self.first_open = start_minute
        """Minutes before this one are closed."""
        self.was_ahead = False
        """Our clock had been ahead, and the store still holds what was written of minutes that are yet to come."""
        self._keys: list[str] = []
        self._index: dict[str, int] = {}
        self._clock = ClockGuard(int(retention.jump_s // _MINUTE_S), retention.late_minutes)
        self.since: Int32Array = np.zeros(0, np.int32)
        """First known minute by index, NEVER where there is none; longer than the number of functions."""
        # per function: last known minute, last minute of a partial answer
        self._last: Int32Array = np.zeros(0, np.int32)
        self._partial: Int32Array = np.zeros(0, np.int32)

    def __len__(self) -> int:
        """Number of functions."""
        return len(self._keys)

    @property
    def keys(self) -> Sequence[str]:
        """Keys by index; not to be changed."""
        return self._keys

    def index(self, key: str, since: int = NEVER) -> int:
        """The index of a function, added if it is new; it is unknown until it is observed.

        `since` is its first known minute from before a restart, which may be older than what is kept.
        """
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self._keys)
            self._keys.append(key)
            if found % BLOCK_ROWS == 0:
                self.blocks.append(Block(found, self.first_open))
            if found == self.since.size:
                self._grow()
            self.since[found] = since
        return found

    def _grow(self) -> None:
        more = np.full(max(self.since.size, BLOCK_ROWS), NEVER, np.int32)
        self.since, self._last, self._partial = (
            np.concatenate((old, more)) for old in (self.since, self._last, self._partial)
        )

    def observe(self, batch: MinuteBatch, *, now_minute: int) -> str | None:
        """Take in one source's word on one minute; the reason if it is rejected, None if it was taken.

        The known functions that are not named had no calls. InputError when the batch itself is malformed.
        """
        batch.check(len(self))
        doubt = self.advance(now_minute)
        if doubt is not None:
            return doubt
        ahead_s = (batch.minute - now_minute) * _MINUTE_S
        if ahead_s > self.retention.future_s:
            return f"{ahead_s} s ahead of our clock, retention.future_s is {self.retention.future_s:g}"
        if batch.minute < self.first_open:
            return f"older than retention.late_s ({self.retention.late_s:g})"
        self._take(batch)
        return None

    def _take(self, batch: MinuteBatch) -> None:
        minute = self.open.setdefault(batch.minute, OpenMinute(len(self)))
        minute.merge(batch, len(self))
        known = slice(len(self)) if batch.known is None else batch.known
        since = self.since[known]
        self.since[known] = np.where(since == NEVER, batch.minute, np.minimum(since, batch.minute))
        self._last[known] = np.maximum(self._last[known], batch.minute)
        if batch.known is not None and batch.rows.size:
            is_known = np.zeros(len(self), np.bool_)
            is_known[batch.known] = True
            partial = batch.rows[~is_known[batch.rows]]
            self._partial[partial] = np.maximum(self._partial[partial], batch.minute)

    def advance(self, now_minute: int) -> str | None:
        """Close the minutes that no count may reach any more; the reason where our clock is not believed."""
        doubt = self._clock.doubt(now_minute)
        if doubt is None:
            if now_minute < self.first_open:
                self._rewind(now_minute)
            self._move(now_minute)
        return doubt

    def _move(self, now_minute: int) -> None:
        first_open = now_minute - self.retention.late_minutes
        for minute in sorted(self.open):
            if minute < first_open:
                self._close(minute, self.open.pop(minute))
        self.first_open = max(self.first_open, first_open)
        self._age(now_minute)

    def _close(self, minute: int, counts: OpenMinute) -> None:
        self.known.append(minute, KnownSet.of(counts.known[: len(self)]))
        rows = counts.hits()
        edges = np.searchsorted(rows, np.arange(len(self.blocks) + 1) * BLOCK_ROWS)
        for block, low, high in zip(self.blocks, edges[:-1], edges[1:], strict=True):
            if low < high:
                hit = rows[low:high]
                block.tiers[0].append(hit - block.first_row, minute, counts.count[hit], counts.concurrency[hit])

    def _age(self, now_minute: int) -> None:
        borders = self.retention.first_minutes(now_minute)
        for block in self.blocks:
            if block.is_due(now_minute):
                block.age(now_minute, borders, self.known)
        self.known.drop_before(borders[2])

    def _rewind(self, now_minute: int) -> None:
        """Our clock had been ahead for long: what was written under its false minutes is forgotten."""
        self.open = {minute: counts for minute, counts in self.open.items() if minute < now_minute}
        self.known.drop_from(now_minute)
        for block in self.blocks:
            block.tiers[0].drop_from(now_minute)
        self._last[self.since >= now_minute] = NEVER
        self.since[self.since >= now_minute] = NEVER
        for column in (self._last, self._partial):
            column[column >= now_minute] = now_minute - 1
        self.first_open = now_minute
        self.was_ahead = True

    def data_state(self, now: float) -> tuple[NDArray[np.uint8], Float32Array]:
        """Per function the position in DATA_STATES and the age in seconds of the last known minute, at `now` (s).

        `none`: never known (age infinite). `partial`: fresh, but the last answer that named it was incomplete.
        `stale`: nothing known for longer than retention.stale_s.
        """
        size = len(self)
        last, partial = self._last[:size], self._partial[:size]
        seen = np.maximum(last, partial)
        age_s = np.maximum(now - (last.astype(np.float64) + 1) * _MINUTE_S, 0)
        fresh = now - (seen.astype(np.float64) + 1) * _MINUTE_S <= self.retention.stale_s
        state = np.select([seen == NEVER, ~fresh, partial > last], [3, 2, 1], 0)
        age_s[last == NEVER] = np.inf
        return state.astype(np.uint8), age_s.astype(np.float32)

    def sparse(self, now_minute: int, window_minutes: int) -> HitView:
        """All hits of the `window_minutes` before `now_minute`, those of still open minutes included.

        The window may not be longer than retention.minute_days; InputError otherwise.
        """
        if window_minutes > self.retention.minute_days * 1440:
            raise InputError(
                f"window: must be at most retention.minute_days ({self.retention.minute_days:g}), "
                f"is {window_minutes} minutes"
            )
        since = self.since[: len(self)]
        since = np.where((since == NEVER) | (since > now_minute), np.int32(now_minute), since)
        return read_hits(self._counts(), since, now_minute, window_minutes)

    def _counts(self) -> Counts:
        for minute in self.open.values():
            minute.grow(len(self))
        return Counts(self.blocks, self.known, self.open, len(self))

    def dense(
        self,
        rows: Int32Array,
        now_minute: int,
        *,
        minutes: int,
        step_minutes: int = 1,
        quantity: Quantity = "count",
    ) -> FloatArray:
        """(rows, minutes // step) counts, or mean concurrency, of the last whole steps before `now_minute`.

        Steps are aligned to multiples of `step_minutes`. NaN where unknown: fewer than half the step's minutes known or
        older than what retention keeps at that grain. A step known in part is scaled up from its known minutes.
        """
        until = now_minute // step_minutes * step_minutes
        edges = np.arange(until - minutes // step_minutes * step_minutes, until + 1, step_minutes)
        if edges.size < 2:
            return np.zeros((rows.size, 0))
        values = read_dense(self._counts(), rows.astype(np.int64), edges, quantity)
        borders = self.retention.first_minutes(max(now_minute, self.first_open + self.retention.late_minutes))
        kept_from = borders[0] if step_minutes % 5 else borders[1] if step_minutes % 60 else borders[2]
        values[:, edges[:-1] < kept_from] = np.nan
        return values

    def load(self, segments: Sequence[Segment], batches: Iterable[MinuteBatch] = ()) -> None:
        """Take in stored counts, oldest first: segments of one grain, then batches by minute.

        Keys must have been indexed in the stored order. May be called several times, each time with later counts.
        """
        if segments:
            self._age(segments[0].start_minute)
            load_segments(self.blocks, self.known, segments)
            for segment in segments:
                for first, until, known in segment.known:
                    rows = np.flatnonzero(known.mask(len(self)))
                    self.since[rows] = np.where(self.since[rows] == NEVER, first, self.since[rows])
                    self._last[rows] = until - 1
            self.first_open = segments[-1].start_minute + segments[-1].minutes
        for batch in batches:
            batch.check(len(self))
            self._move(batch.minute)
            self._take(batch)
