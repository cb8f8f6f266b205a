"""Counts on disk: a log of accepted minutes, closed into hours that coarsen with age just as the history does.

An append of one small payload makes a minute durable before it is acknowledged; the hour's segment is built later from
the log alone, so memory and disk cannot drift apart. Loading replays the same way: segments by grain, then the log.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import orjson
from sqlalchemy import Connection, delete, func, insert, select, update

from prewarm.history import NEVER, History, MinuteBatch, Retention, hour_segment
from prewarm.store.codec import decode_batch, decode_segment, encode_batch, encode_segment
from prewarm.store.schema import BATCHES, FUNCTIONS, INGESTS, SEGMENTS
from prewarm.store.sources import add_spoken

_LOG = logging.getLogger("prewarm.store")
_LOAD_HOURS = {1: 12, 5: 36, 60: 168}  # segments decoded at a time while loading, by grain; bounds the peak of memory


@dataclass(frozen=True, slots=True)
class CountEntry:
    """Everything that one acknowledged ingestion changes.

    `new_keys` are (key, first known minute or None) from index `first_row` on, which the database may or may not have
    yet; `functions` is the number there were when the batches were accepted.
    """

    source: str
    sequence: int
    at: float
    answer: dict[str, Any]
    batches: tuple[MinuteBatch, ...]
    first_row: int
    new_keys: tuple[tuple[str, int | None], ...]
    functions: int
    spoken: frozenset[int] = frozenset()
    """Rows that the source named for the first time."""

    @property
    def nbytes(self) -> int:
        """Memory that the entry holds while it waits."""
        arrays = [(b.rows, b.count, b.concurrency, b.known) for b in self.batches]
        return 1024 + sum(array.nbytes for batch in arrays for array in batch if array is not None)


def find_answer(connection: Connection, source: str, sequence: int) -> dict[str, Any] | None:
    """What the pair was answered, None if it is new."""
    where = (INGESTS.c.source == source) & (INGESTS.c.sequence == sequence)
    found = connection.execute(select(INGESTS.c.answer).where(where)).scalar()
    return None if found is None else orjson.loads(found)


def recent_answers(connection: Connection, since: float) -> dict[tuple[str, int], dict[str, Any]]:
    """Pairs answered at `since` or later, oldest first."""
    rows = connection.execute(select(INGESTS).where(INGESTS.c.at >= since).order_by(INGESTS.c.at))
    return {(row.source, row.sequence): orjson.loads(row.answer) for row in rows}


def drop_answers(connection: Connection, before: float) -> None:
    """Forget pairs answered before `before` (s); what they sent would be refused as late by now."""
    connection.execute(delete(INGESTS).where(INGESTS.c.at < before))


def record_counts(connection: Connection, entry: CountEntry) -> dict[str, Any]:
    """Write an entry unless its pair is there already (then also after a commit whose answer was lost)."""
    known = find_answer(connection, entry.source, entry.sequence)
    if known is not None:
        return known
    stored = connection.execute(select(func.count()).select_from(FUNCTIONS)).scalar_one()
    fresh = list(enumerate(entry.new_keys, entry.first_row))[max(stored - entry.first_row, 0) :]
    if fresh:
        connection.execute(insert(FUNCTIONS), [{"row": row, "key": key, "since": since} for row, (key, since) in fresh])
    if entry.batches:
        payloads = [
            {"minute": batch.minute, "payload": encode_batch(batch, entry.functions)} for batch in entry.batches
        ]
        connection.execute(insert(BATCHES), payloads)
    add_spoken(connection, entry.source, entry.spoken)
    pair = {"source": entry.source, "sequence": entry.sequence, "at": entry.at}
    connection.execute(insert(INGESTS).values(**pair, answer=orjson.dumps(entry.answer).decode()))
    return entry.answer


def close_hours(connection: Connection, retention: Retention, now_minute: int, limit: int = 8) -> int:
    """Close, coarsen and drop hours by their age, at most `limit` of each in one call; returns how many were touched.

    An hour is closed once nothing can be late for it any more and an hour has passed, which lets writes that were held
    up by an outage come first.
    """
    touched = _close(connection, now_minute - retention.late_minutes - 60, limit)
    borders = retention.first_minutes(now_minute)
    for step, border in ((5, borders[0]), (60, borders[1])):
        where = (SEGMENTS.c.step < step) & (SEGMENTS.c.start_minute < border)
        chosen = select(SEGMENTS).where(where).order_by(SEGMENTS.c.start_minute).limit(limit)
        for row in connection.execute(chosen).all():
            payload = encode_segment(decode_segment(row.payload).coarsened(step))
            same = SEGMENTS.c.start_minute == row.start_minute
            connection.execute(update(SEGMENTS).where(same).values(step=step, payload=payload))
            touched += 1
    connection.execute(delete(SEGMENTS).where(SEGMENTS.c.start_minute < borders[2]))
    return touched


def _close(connection: Connection, before_minute: int, limit: int) -> int:
    hours = 0
    while hours < limit:
        oldest = connection.execute(select(func.min(BATCHES.c.minute))).scalar()
        if oldest is None or oldest // 60 * 60 + 60 > before_minute:
            break
        start = oldest // 60 * 60
        within = (BATCHES.c.minute >= start) & (BATCHES.c.minute < start + 60)
        stored = connection.execute(select(BATCHES.c.payload).where(within).order_by(BATCHES.c.id)).scalars()
        batches = [decode_batch(payload) for payload in stored]
        _add_segment(connection, start, batches)
        connection.execute(delete(BATCHES).where(within))
        hours += 1
    return hours


def _add_segment(connection: Connection, start: int, batches: list[MinuteBatch]) -> None:
    """Close an hour, together with what an earlier closing left (the clock had been ahead then)."""
    same = SEGMENTS.c.start_minute == start
    earlier = connection.execute(select(SEGMENTS.c.payload).where(same)).scalar()
    if earlier is not None:
        segment = decode_segment(earlier)
        if segment.step > 1:
            _LOG.warning("hour of minute %d is coarse already: %d late batches left out", start, len(batches))
            return
        batches = [*segment.batches(), *batches]
        connection.execute(delete(SEGMENTS).where(same))
    functions = connection.execute(select(func.count()).select_from(FUNCTIONS)).scalar_one()
    payload = encode_segment(hour_segment(start, functions, batches))
    connection.execute(insert(SEGMENTS).values(start_minute=start, step=1, payload=payload))


def forget_from(connection: Connection, minute: int) -> None:
    """Drop counts at `minute` and later: they were written while our clock was ahead."""
    connection.execute(delete(BATCHES).where(BATCHES.c.minute >= minute))
    connection.execute(delete(SEGMENTS).where(SEGMENTS.c.start_minute >= minute))


def load_history(connection: Connection, retention: Retention, now_minute: int) -> History:
    """The history as it was, less what has aged out; counts of a future that cannot be are left where they are."""
    oldest = retention.first_minutes(now_minute)[2]
    history = History(retention, oldest)
    for row in connection.execute(select(FUNCTIONS).order_by(FUNCTIONS.c.row)):
        history.index(row.key, NEVER if row.since is None else row.since)
    within = (SEGMENTS.c.start_minute >= oldest) & (SEGMENTS.c.start_minute < now_minute)
    grains = select(SEGMENTS.c.start_minute, SEGMENTS.c.step).where(within).order_by(SEGMENTS.c.start_minute)
    for step, grain in groupby(connection.execute(grains).all(), lambda row: row.step):
        starts = [row.start_minute for row in grain]
        for position in range(0, len(starts), _LOAD_HOURS[step]):
            _load_segments(connection, history, starts[position : position + _LOAD_HOURS[step]])
    newest = now_minute + int(retention.future_s // 60)
    log = select(BATCHES.c.payload).where(BATCHES.c.minute.between(oldest, newest))
    stored = connection.execute(log.order_by(BATCHES.c.minute, BATCHES.c.id)).scalars()
    history.load((), (decode_batch(payload) for payload in stored))
    return history


def _load_segments(connection: Connection, history: History, starts: Sequence[int]) -> None:
    chosen = select(SEGMENTS.c.payload).where(SEGMENTS.c.start_minute.between(starts[0], starts[-1]))
    payloads = connection.execute(chosen.order_by(SEGMENTS.c.start_minute)).scalars()
    history.load([decode_segment(payload) for payload in payloads])
