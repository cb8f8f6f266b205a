"""The thread that writes keeps its connection while all goes well, and its statements go to the driver as they are."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import bindparam, create_mock_engine, event, insert, update
from sqlalchemy.dialects import sqlite

from prewarm.history import Retention
from prewarm.store import Stamp, Store, WriterSettings, documents, put_document
from prewarm.store.database import open_database
from prewarm.store.migrations import migrate
from prewarm.store.prepared import Prepared
from prewarm.store.schema import MODELS
from tests.store.conftest import empty_database
from tests.store.postgres import Server

PUT = partial(put_document, kind="mode", name="fleet", body={"default": "shadow"}, stamp=Stamp("ana", 0.0))


async def test_a_connection_is_kept_until_something_goes_wrong_with_it(tmp_path: Path) -> None:
    database, taken = open_database(str(tmp_path / "kept.db")), list[object]()
    with database.writer.begin() as connection:
        migrate(connection)
    event.listen(database.writer, "checkout", lambda *given: taken.append(given))
    async with Store(database, Retention(), WriterSettings()) as store:
        for _ in range(3):
            await store.submit(PUT)
        assert len(taken) == 1
        with pytest.raises(ZeroDivisionError):
            await store.submit(lambda _: 1 / 0)
        await store.submit(PUT)
        assert len(taken) == 2


@pytest.mark.postgres
async def test_a_server_that_was_restarted_between_two_writes_is_no_outage(
    postgres_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    empty_database(postgres_server)
    async with Store.open(postgres_server.address, Retention()) as store:
        await store.submit(PUT)
        await asyncio.to_thread(postgres_server.stop)
        await asyncio.to_thread(postgres_server.start)
        with caplog.at_level(logging.WARNING, "prewarm.store"):
            await store.submit(PUT)
        assert await store.read(partial(documents, kind="mode")) == {"fleet": {"default": "shadow"}}
    assert caplog.records == []


def test_a_prepared_statement_is_what_the_dialect_says_with_its_parameters_in_their_order() -> None:
    renamed = update(MODELS).where(MODELS.c.name == bindparam("old")).values(name=bindparam("new"))
    one = Prepared(sqlite=insert(MODELS).prefix_with("OR IGNORE"), any=renamed)
    assert one.made(sqlite.dialect()) == (
        "INSERT OR IGNORE INTO models (name, version, at, payload) VALUES (?, ?, ?, ?)",
        ("name", "version", "at", "payload"),
    )
    text, places = one.made(create_mock_engine("postgresql+psycopg://", print).dialect)
    assert places is None
    assert text == "UPDATE models SET name=%(new)s::VARCHAR WHERE models.name = %(old)s::VARCHAR"
