"""The one thread that writes: jobs in, one transaction for as many as are waiting, answers only after the commit.

A job is a function of the connection and may run again: after an outage (disk full, database gone) the transaction is
repeated until it succeeds, and until then nobody is told that it did. What waits is bounded; beyond the bound new jobs
are refused at once, so that the caller can say so instead of promising what could be lost.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from prewarm.domain import PrewarmError
from prewarm.store.kept import KeptConnection

_LOG = logging.getLogger("prewarm.store")

Job = Callable[[Connection], Any]

_SQLITE_ERROR = 1  # a mistake in the statement itself, as opposed to full, busy, unreadable, ...
_STATEMENT_TIMEOUT, _READ_ONLY = "57014", "25006"


class StoreBusyError(PrewarmError):
    """Too much is waiting to be written; nothing was taken. HTTP 503."""


class StoreDownError(PrewarmError):
    """The database could not be reached before the store was closed, or for a read. HTTP 503."""


@dataclass(frozen=True, slots=True)
class StoreState:
    """Whether the database takes writes: `degraded` is the reason when it does not; `waiting` jobs are not yet safe."""

    degraded: str | None
    waiting: int
    waiting_bytes: int


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """Bounds and pauses of the writer."""

    max_waiting: int = 10_000
    """Jobs that may wait."""
    max_waiting_bytes: int = 256 << 20
    """Bytes that waiting jobs may hold."""
    group: int = 256
    """Jobs written in one transaction."""
    first_pause_s: float = 0.2
    """Pause after the first failure; doubled up to `longest_pause_s`."""
    longest_pause_s: float = 10.0
    close_s: float = 10.0
    """How long closing waits for what is still to be written."""


@dataclass(slots=True)
class _Waiting:
    job: Job
    nbytes: int
    done: Future[Any] = field(default_factory=Future)


class Writer:
    """Owns the writing thread; `submit` never blocks."""

    def __init__(self, engine: Engine, settings: WriterSettings) -> None:
        """Start the thread; `engine` is used by it alone."""
        self._settings = settings
        self._waiting: deque[_Waiting] = deque()
        self._bytes = 0
        self._degraded: str | None = None
        self._changed = threading.Condition()
        self._closing = False
        self._kept = KeptConnection(engine)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="prewarm-store-writer", daemon=True)
        self._thread.start()

    @property
    def state(self) -> StoreState:
        """The state now."""
        with self._changed:
            return StoreState(self._degraded, len(self._waiting), self._bytes)

    def check_room(self) -> None:
        """StoreBusyError when no more jobs are taken."""
        with self._changed:
            if self._closing:
                raise StoreBusyError("store: closed")
            bounds = self._settings
            if len(self._waiting) >= bounds.max_waiting or self._bytes >= bounds.max_waiting_bytes:
                why = f" ({self._degraded})" if self._degraded else ""
                raise StoreBusyError(f"store: {len(self._waiting)} writes are waiting, no room for more{why}")

    def submit(self, job: Job, nbytes: int = 1024, *, room_checked: bool = False) -> Future[Any]:
        """The job's result, once it is committed; StoreBusyError as by `check_room`, unless that was asked just now."""
        if not room_checked:
            self.check_room()
        item = _Waiting(job, nbytes)
        item.done.set_running_or_notify_cancel()  # a caller that gives up leaves the result to nobody, but not undone
        with self._changed:
            self._waiting.append(item)
            self._bytes += nbytes
            self._changed.notify()
        return item.done

    def close(self) -> None:
        """Write what is waiting, for at most `close_s`; what could not be written is failed, never acknowledged."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(self._settings.close_s)
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        pause_s = self._settings.first_pause_s
        alone = 0  # jobs still to be run one by one, after one of a group failed
        while group := self._next(1 if alone else self._settings.group):
            try:
                results = self._transact(group)
            except Exception as error:  # noqa: BLE001  the outermost loop of this thread; logged, and told to the waiting
                if (reason := outage(error)) is not None:
                    self._set_degraded(reason)
                    if self._stop.wait(pause_s):
                        break
                    pause_s = min(2 * pause_s, self._settings.longest_pause_s)
                elif len(group) > 1:
                    alone = len(group)
                else:
                    alone = max(alone - 1, 0)
                    self._finish(group)
                    group[0].done.set_exception(error)
                continue
            pause_s, alone = self._settings.first_pause_s, max(alone - len(group), 0)
            self._set_degraded(None)
            self._finish(group)
            for item, result in zip(group, results, strict=True):
                item.done.set_result(result)
        self._kept.let_go()
        self._abandon()

    def _next(self, most: int) -> list[_Waiting]:
        """The oldest waiting jobs, left in the queue; empty once the store is closed and all is written."""
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            return list(islice(self._waiting, most))

    def _transact(self, group: list[_Waiting]) -> list[Any]:
        """Run the jobs and commit, on the connection of the last time; one that was lost since is replaced at once."""
        kept = self._kept.used
        try:
            return self._commit(group)
        except DBAPIError as error:
            if not (kept and error.connection_invalidated):
                raise
        return self._commit(group)

    def _commit(self, group: list[_Waiting]) -> list[Any]:
        try:
            connection = self._kept.get()
            with connection.begin():
                return [item.job(connection) for item in group]
        except BaseException:
            self._kept.let_go()
            raise

    def _finish(self, group: list[_Waiting]) -> None:
        with self._changed:
            for item in group:
                self._waiting.popleft()
                self._bytes -= item.nbytes

    def _set_degraded(self, reason: str | None) -> None:
        with self._changed:
            changed, self._degraded = reason != self._degraded, reason
        if changed and reason:
            _LOG.error("store degraded, keeping writes in memory and retrying: %s", reason)
        elif changed:
            _LOG.warning("store works again")

    def _abandon(self) -> None:
        with self._changed:
            left = list(self._waiting)
            self._waiting.clear()
            self._bytes = 0
        for item in left:
            item.done.set_exception(StoreDownError(f"store: closed before this was written ({self._degraded})"))


def outage(error: BaseException) -> str | None:
    """One line on why the database cannot work now; None when the error is the job's own."""
    if not isinstance(error, DBAPIError) or error.orig is None:
        return None
    name, original = type(error.orig).__name__, error.orig
    text = " ".join(str(original).split())[:200]
    state = getattr(original, "sqlstate", None)
    if error.connection_invalidated or state == _READ_ONLY:
        return f"{name}: {text}"
    is_operational = any(kind.__name__ in {"OperationalError", "InterfaceError"} for kind in type(original).__mro__)
    is_statement = getattr(original, "sqlite_errorcode", 0) == _SQLITE_ERROR or state == _STATEMENT_TIMEOUT
    return f"{name}: {text}" if is_operational and not is_statement else None
