"""The databases that every store test runs on: a SQLite file and a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from tests.store.postgres import Server, find_programs, running_server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server of our own; skips where its programs are absent."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server programs here (Debian: postgresql-15)")
    with running_server(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'state' / 'prewarm.db'}"
    server: Server = request.getfixturevalue("postgres_server")
    empty_database(server)
    return server.address


def empty_database(server: Server) -> None:
    """Drop everything in the server's database."""
    engine = create_engine(server.address.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    engine.dispose()
