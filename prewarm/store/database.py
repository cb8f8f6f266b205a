"""Opening the database: a SQLite file by default, PostgreSQL by URL, with the same promises.

SQLite runs in WAL mode with full synchronisation (a commit survives a power cut, readers do not wait for the writer);
its transactions are begun by us, because the driver would otherwise leave schema changes outside them. PostgreSQL runs
through psycopg 3 with short timeouts, so that a database that went away is noticed within seconds.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from prewarm.domain import InputError
from prewarm.store.locks import FileLocks, Locks, SessionLocks

_CONNECT_S = 5
_STATEMENT_MS = 60_000


@dataclass(frozen=True, slots=True)
class Database:
    """`writer` has one connection for the one writing thread; `reader` has a few that never block it.

    locks: names that one process at a time may hold.
    """

    writer: Engine
    reader: Engine
    locks: Locks

    def close(self) -> None:
        """Close all connections."""
        self.locks.close()
        self.writer.dispose()
        self.reader.dispose()


def open_database(address: str) -> Database:
    """A file path, `sqlite:///path` or `postgresql://user@host/name`; InputError for anything else."""
    url = _parse(address)
    if url.get_backend_name() == "sqlite":
        return Database(_sqlite(url, "BEGIN IMMEDIATE", 1), _sqlite(url, "BEGIN", 4), FileLocks(url))
    return Database(_postgres(url, 1), _postgres(url, 4), SessionLocks(_postgres(url, 1)))


def _parse(address: str) -> URL:
    try:
        url = make_url(address if "://" in address else f"sqlite:///{address}")
    except ArgumentError:
        raise InputError("database: must be a file or an address like postgresql://user@host/name") from None
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database not in {None, "", ":memory:"}:
        return url
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise InputError(f"database: must be a SQLite file or PostgreSQL, is {url.drivername}")


def _sqlite(url: URL, begin: str, connections: int) -> Engine:
    engine = create_engine(url, pool_size=connections, max_overflow=0, connect_args={"timeout": 10.0})

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _postgres(url: URL, connections: int) -> Engine:
    options = f"-c statement_timeout={_STATEMENT_MS} -c application_name=prewarm"
    arguments = {"connect_timeout": _CONNECT_S, "options": options}
    return create_engine(url, pool_size=connections, max_overflow=0, pool_pre_ping=True, connect_args=arguments)
