"""A database is brought to this version's schema once, whole or not at all, and a newer one is refused."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from prewarm.domain import InputError, PrewarmError
from prewarm.history import Retention
from prewarm.store import SchemaError, Store
from prewarm.store.database import open_database
from prewarm.store.migrations import MIGRATIONS, migrate
from prewarm.store.schema import METADATA


def opened(address: str) -> None:
    Store.open(address, Retention()).close()


def test_the_migrated_schema_is_the_one_that_queries_use(address: str) -> None:
    opened(address)
    database = open_database(address)
    with database.reader.connect() as connection:
        looked = inspect(connection)
        for table in METADATA.sorted_tables:
            found = {column["name"]: column["nullable"] for column in looked.get_columns(table.name)}
            expected = {column.name: column.nullable for column in table.columns}
            assert found.keys() == expected.keys(), table.name
            assert [name for name in expected if expected[name] != found[name] and name not in table.primary_key] == []
            assert {index["name"] for index in looked.get_indexes(table.name)} >= {
                index.name for index in table.indexes
            }
    database.close()


def test_a_second_opening_migrates_nothing(address: str) -> None:
    opened(address)
    database = open_database(address)
    with database.writer.begin() as connection:
        assert migrate(connection) == 0
    database.close()


def test_a_later_version_adds_its_step_and_keeps_the_data(address: str) -> None:
    opened(address)
    database = open_database(address)
    with database.writer.begin() as connection:
        connection.execute(text("""INSERT INTO functions ("row", "key") VALUES (0, 'shop/cart')"""))
    with database.writer.begin() as connection:
        assert migrate(connection, [*MIGRATIONS, ("ALTER TABLE functions ADD COLUMN note TEXT",)]) == 1
    with database.reader.connect() as connection:
        assert connection.execute(text("SELECT key, note FROM functions")).all() == [("shop/cart", None)]
    database.close()


def test_a_failing_step_leaves_nothing_behind(address: str) -> None:
    opened(address)
    database = open_database(address)
    broken = [*MIGRATIONS, ("CREATE TABLE half (id INTEGER)", "CREATE TABLE half (id INTEGER)")]
    with pytest.raises(DBAPIError, match="half"), database.writer.begin() as connection:
        migrate(connection, broken)
    with database.writer.begin() as connection:
        assert not inspect(connection).has_table("half")
        assert migrate(connection) == 0
    database.close()


def test_a_database_of_a_newer_version_is_refused_in_one_line(address: str) -> None:
    opened(address)
    database = open_database(address)
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE schema_version SET version = 99"))
    database.close()
    known = len(MIGRATIONS)
    with pytest.raises(SchemaError, match=rf"^the database has schema 99, this prewarm knows {known}: [^\n]*$"):
        opened(address)


def test_two_services_that_start_at_once_migrate_once(address: str) -> None:
    failures: list[PrewarmError] = []

    def start() -> None:
        try:
            opened(address)
        except PrewarmError as error:
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mysql://here/db", "must be a SQLite file or PostgreSQL"),
        ("sqlite:///:memory:", "must be a SQLite file or PostgreSQL"),
        ("http:///", "must be"),
    ],
)
def test_other_addresses_are_refused(address: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        open_database(address)


def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, " * 100)
    for file in ("notes.txt", "notes.txt/below.db"):
        with pytest.raises(PrewarmError, match=r"^database: cannot be opened: [^\n]+$"):
            opened(str(tmp_path / file))
