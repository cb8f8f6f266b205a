"""The store as the service sees it: asynchronous, never blocking the loop, honest about what is safe.

Writes go to the one writing thread and are awaited until they are committed; reads run on a few threads with
connections of their own. What is written and read is said by functions of a connection (`decisions`, `people`,
`counts`), so this class stays small and the same functions serve the command line without a loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DBAPIError

from prewarm.domain import PrewarmError
from prewarm.history import History, Retention
from prewarm.store.counts import close_hours, drop_answers, forget_from, load_history, recent_answers
from prewarm.store.database import Database, open_database
from prewarm.store.decisions import drop_decisions
from prewarm.store.intake import Accept, Answer, Intake
from prewarm.store.migrations import migrate
from prewarm.store.people import drop_audit
from prewarm.store.schema import FUNCTIONS
from prewarm.store.sources import SILENT_S, Spoken, drop_spoken, spoken_since
from prewarm.store.writer import StoreDownError, StoreState, Writer, WriterSettings, outage

T = TypeVar("T")
_DAY_S = 86_400
_READERS = 4


class Store:
    """Durable state behind a database address; use as an asynchronous context manager."""

    def __init__(self, database: Database, retention: Retention, settings: WriterSettings) -> None:
        """Around an opened and migrated database; `Store.open` is the usual way."""
        self._database = database
        self._retention = retention
        self._readers = ThreadPoolExecutor(_READERS, "prewarm-store-reader")
        self._writer = Writer(database.writer, settings)
        self._intake: Intake | None = None
        self.spoken: Spoken = {}
        """Which functions each source had named when the history was loaded."""

    @classmethod
    def open(cls, address: str, retention: Retention, settings: WriterSettings | None = None) -> Self:
        """Open and migrate; blocks, so do it before serving. PrewarmError in one line when it cannot be done."""
        database = open_database(address)
        try:
            if database.writer.dialect.name == "sqlite":
                Path(str(database.writer.url.database)).parent.mkdir(parents=True, exist_ok=True)
            with database.writer.begin() as connection:
                migrate(connection)
                drop_spoken(connection)
        except (DBAPIError, OSError) as error:
            database.close()
            raise PrewarmError(
                f"database: cannot be opened: {outage(error) or getattr(error, 'orig', error)}"
            ) from error
        except PrewarmError:
            database.close()
            raise
        return cls(database, retention, settings or WriterSettings())

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Write what is waiting, then close."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Write what is waiting (for a bounded time), then close all connections; may be called again."""
        self._writer.close()
        self._readers.shutdown()
        self._database.close()

    @property
    def state(self) -> StoreState:
        """Whether writes get through, and what is waiting."""
        return self._writer.state

    async def submit(self, job: Callable[[Connection], T]) -> T:
        """Run a writing job and return its result after the commit.

        StoreBusyError when too much is waiting. The job may run several times (after an outage), so it must do nothing
        but use its connection. While the database is down this waits: put a time limit around it where one is needed.
        """
        result: T = await asyncio.wrap_future(self._writer.submit(job))
        return result

    async def read(self, job: Callable[[Connection], T]) -> T:
        """Run a reading job; StoreDownError with the reason when the database cannot be reached."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, job)

    def _read(self, job: Callable[[Connection], T]) -> T:
        try:
            with self._database.reader.connect() as connection:
                return job(connection)
        except DBAPIError as error:
            reason = outage(error)
            if reason is None:
                raise
            raise StoreDownError(f"store: {reason}") from error

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[bool]:
        """Hold a name against every process on this database; False where another holds it. StoreDownError.

        It is free again when the block ends, and when this process does.
        """
        loop = asyncio.get_running_loop()
        try:
            release = await loop.run_in_executor(self._readers, self._database.locks.take, name)
        except (DBAPIError, OSError) as error:
            raise StoreDownError(f"store: {outage(error) or error}") from error
        try:
            yield release is not None
        finally:
            if release is not None:
                await loop.run_in_executor(self._readers, release)

    async def load_history(self, now_minute: int) -> History:
        """The history as of the last acknowledged count; call once, before `ingest`."""
        history = await self.read(partial(load_history, retention=self._retention, now_minute=now_minute))
        since = now_minute * 60 - 2 * self._retention.late_s
        recent = await self.read(partial(recent_answers, since=since))
        stored = await self.read(
            lambda connection: connection.execute(select(func.count(FUNCTIONS.c.row))).scalar_one()
        )
        self.spoken = await self.read(partial(spoken_since, since=now_minute * 60 - SILENT_S))
        self._intake = Intake(self._writer, self.read, recent=recent, stored_functions=stored, spoken=self.spoken)
        return history

    async def ingest(self, history: History, *, source: str, sequence: int, at: float, accept: Accept) -> Answer:
        """Take counts in once per (source, sequence) and return the answer when they are durable; see `Intake.take`."""
        if self._intake is None:
            raise PrewarmError("store: load_history must come before ingest")
        return await self._intake.take(history, source=source, sequence=sequence, at=at, accept=accept)

    def keep_for(self, *, decisions_days: float, audit_days: float) -> None:
        """Other ages for decisions and audit, from the next maintenance on; those of counts hold until a restart."""
        self._retention = replace(self._retention, decisions_days=decisions_days, audit_days=audit_days)

    async def maintain(self, now: float) -> int:
        """Close and coarsen hours and drop what is over age, a bounded amount at a time; returns the hours touched."""
        return await self.submit(partial(_maintain, retention=self._retention, now=now))

    async def forget_counts_from(self, minute: int) -> None:
        """Drop counts at `minute` and later, after our clock had been ahead for long."""
        await self.submit(partial(forget_from, minute=minute))


def _maintain(connection: Connection, retention: Retention, now: float) -> int:
    drop_decisions(connection, now - retention.decisions_days * _DAY_S)
    drop_audit(connection, now - retention.audit_days * _DAY_S)
    drop_answers(connection, now - retention.minute_days * _DAY_S)
    return close_hours(connection, retention, int(now // 60))
