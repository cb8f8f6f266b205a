"""Taking counts in, once: each (source, sequence) changes the history one time however often it is sent.

The order is what makes an acknowledgement a promise: find out whether the pair is known, make sure there is room to
write, only then change the history, then write, and answer after the commit. The history is ahead of the database only
by what nobody was told was safe, so decisions see fresh counts even while the database is down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from prewarm.history import NEVER, History, MinuteBatch
from prewarm.store.counts import CountEntry, find_answer, record_counts
from prewarm.store.sources import Spoken
from prewarm.store.writer import Job, StoreDownError, Writer

Answer = dict[str, Any]
Accept = Callable[[], tuple[Answer, tuple[MinuteBatch, ...]]]
"""Puts the counts into the history; returns the answer and the batches that the history took."""

_RECENT = 100_000  # pairs remembered in memory; more than late_s of them, so an outage of the database shows no gap


class Intake:
    """Idempotent ingestion into one history; owned by the event loop that calls it."""

    def __init__(
        self,
        writer: Writer,
        read: Callable[[Job], Awaitable[Any]],
        *,
        recent: dict[tuple[str, int], Answer],
        stored_functions: int,
        spoken: Spoken,
    ) -> None:
        """`recent`: pairs answered lately, by age; `stored_functions`, `spoken`: keys and claims in the database."""
        self._writer = writer
        self._read = read
        self._recent = recent
        self._stored_functions = stored_functions
        self._spoken = dict(spoken)
        self._running: dict[tuple[str, int], asyncio.Task[Answer]] = {}

    async def take(self, history: History, *, source: str, sequence: int, at: float, accept: Accept) -> Answer:
        """The answer to a pair, after it is durable; `accept` is called once, and only if the pair is new.

        Cancelling the caller does not cancel the writing: a sender that gave up and repeats joins it. StoreBusyError
        when there is no room (then `accept` was not called and nothing changed).
        """
        pair = (source, sequence)
        if (answer := self._recent.get(pair)) is not None:
            return answer
        task = self._running.get(pair)
        if task is None:
            work = self._take_new(history, pair, at, accept)
            task = self._running[pair] = asyncio.create_task(work, name=f"intake {source} {sequence}")
            task.add_done_callback(partial(self._forget, pair))
        return await asyncio.shield(task)

    def _forget(self, pair: tuple[str, int], task: asyncio.Task[Answer]) -> None:
        self._running.pop(pair, None)
        if not task.cancelled():
            task.exception()  # seen here; whoever still waits gets it too

    async def _take_new(self, history: History, pair: tuple[str, int], at: float, accept: Accept) -> Answer:
        try:
            known: Answer | None = await self._read(partial(find_answer, source=pair[0], sequence=pair[1]))
        except StoreDownError:
            known = None  # a repeat from before `_recent` is older than late_s, and the history refuses it
        answer: Answer = await asyncio.wrap_future(self._write(history, pair, at, accept)) if known is None else known
        self._recent[pair] = answer
        while len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]
        return answer

    def _write(self, history: History, pair: tuple[str, int], at: float, accept: Accept) -> Future[Any]:
        """Ask for room first, then change the history: a refusal must leave it as it was."""
        self._writer.check_room()
        answer, batches = accept()
        first_row = self._stored_functions
        since = [None if first == NEVER else int(first) for first in history.since[first_row : len(history)]]
        keys = tuple(zip(history.keys[first_row:], since, strict=True))
        named = frozenset[int]().union(*(batch.rows.tolist() for batch in batches))
        fresh = named - self._spoken.get(pair[0], frozenset())
        entry = CountEntry(*pair, at, answer, batches, first_row, keys, len(history), fresh)
        done = self._writer.submit(partial(record_counts, entry=entry), entry.nbytes, room_checked=True)
        done.add_done_callback(partial(self._note_functions, len(history), pair[0], fresh))
        return done

    def _note_functions(self, functions: int, source: str, fresh: frozenset[int], done: Future[Any]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._stored_functions = max(self._stored_functions, functions)
            if fresh:
                self._spoken[source] = self._spoken.get(source, frozenset()) | fresh
