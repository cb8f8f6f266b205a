"""Names that one process at a time may hold: a command and a service on one database must not undo each other's work.

A name is free again the moment its holder ends, however it ends: with SQLite the operating system drops the lock of a
file beside the database, with PostgreSQL the server drops the session's advisory locks.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sqlalchemy import URL, Engine, text
from sqlalchemy.exc import DBAPIError

from prewarm.store.kept import KeptConnection

Release = Callable[[], None]
"""Gives a name back."""
_TRIES = 20


class Locks(Protocol):
    """Names of one database; every method blocks."""

    def take(self, name: str) -> Release | None:
        """Hold a name; None where another process, or this one, holds it."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class FileLocks:
    """Locked files beside a SQLite database, named by a digest of the name; removed when they are given back."""

    def __init__(self, url: URL) -> None:
        self._database = Path(str(url.database))

    def take(self, name: str) -> Release | None:
        """A file that was removed between being opened and being locked holds nothing, and another one is tried."""
        path = self._database.with_name(f"{self._database.name}-{_digest(name).hex()}.lock")
        for _ in range(_TRIES):
            place = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(place, path):
                    return lambda: _give_back(place, path)
            except BlockingIOError:
                os.close(place)
                return None
            except BaseException:
                os.close(place)
                raise
            os.close(place)
        return None

    def close(self) -> None:
        """Nothing is open but what is held."""


class SessionLocks:
    """Advisory locks of one PostgreSQL session; a session that was lost is replaced when the next name is taken."""

    def __init__(self, engine: Engine) -> None:
        """`engine` is used for this alone."""
        self._engine = engine
        self._kept = KeptConnection(engine, autocommit=True)
        self._held: set[int] = set()
        self._one_at_a_time = threading.Lock()

    def take(self, name: str) -> Release | None:
        """A session may take a lock twice, so what is held is kept in mind."""
        number = int.from_bytes(_digest(name), signed=True)
        with self._one_at_a_time:
            if number in self._held or not self._asked("pg_try_advisory_lock", number):
                return None
            self._held.add(number)
        return lambda: self._give_back(number)

    def close(self) -> None:
        """The server drops what the session still holds."""
        with self._one_at_a_time:
            self._kept.let_go()
            self._engine.dispose()

    def _give_back(self, number: int) -> None:
        with self._one_at_a_time:
            self._held.discard(number)
            with suppress(DBAPIError):  # the session is lost, and its locks with it
                self._asked("pg_advisory_unlock", number)

    def _asked(self, function: str, number: int) -> bool:
        connection = self._kept.get()
        try:
            return bool(connection.execute(text(f"SELECT {function}(:number)"), {"number": number}).scalar_one())
        except DBAPIError:
            self._kept.let_go()
            raise


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=8).digest()


def _is_at(place: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(place), path.stat())
    return False


def _give_back(place: int, path: Path) -> None:
    path.unlink(missing_ok=True)
    os.close(place)
