"""The disk fills up, the database goes away: nothing acknowledged is lost, nothing unsafe is acknowledged."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, event

from prewarm.domain import PrewarmError
from prewarm.history import DATA_STATES, Retention
from prewarm.store import Stamp, Store, StoreBusyError, StoreDownError, WriterSettings, documents, put_document
from prewarm.store.database import open_database
from prewarm.store.migrations import migrate
from tests.faults.writing import START
from tests.store.conftest import empty_database
from tests.store.counting import batch, ingest
from tests.store.postgres import Server

QUICK = WriterSettings(first_pause_s=0.02, longest_pause_s=0.05, close_s=0.2)


class SmallDisk:
    """A store on a SQLite file that may not grow until `free` is called."""

    def __init__(self, file: Path, settings: WriterSettings) -> None:
        self._pages = 60
        database = open_database(str(file))
        with database.writer.begin() as connection:
            migrate(connection)
        event.listen(database.writer, "begin", self._limit)
        self.store = Store(database, Retention(), settings)

    def _limit(self, connection: Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count={self._pages}")

    def free(self) -> None:
        self._pages = 1_000_000


async def degraded(store: Store) -> str:
    """Wait until the store says why it cannot write."""
    async with asyncio.timeout(10):
        while (reason := store.state.degraded) is None:  # noqa: ASYNC110  the store has a state to look at, no event
            await asyncio.sleep(0.01)
    return reason


async def fill(store: Store) -> asyncio.Task[None]:
    """Write until the disk is full; the returned task is the write that waits."""
    body = {"text": "x" * 50_000}
    for number in range(100):
        put = partial(put_document, kind="policy", name=f"ns/f{number}", body=body, stamp=Stamp("ana", 0.0))
        writing = asyncio.create_task(store.submit(put))
        while not writing.done():
            await asyncio.wait([writing], timeout=0.02)
            if store.state.degraded:
                return writing
    pytest.fail("the disk never filled")


async def test_a_full_disk_is_said_and_writes_go_through_once_there_is_room(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path / "prewarm.db", QUICK)
    async with disk.store as store:
        history = await store.load_history(START)
        history.index("ns/f")
        assert await ingest(store, history, 1, [batch(START, {0: 1.0})]) == {"accepted": 1, "rejected": []}
        waiting = await fill(store)
        assert "full" in await degraded(store)
        unsafe = asyncio.create_task(ingest(store, history, 2, [batch(START + 1, {0: 2.0})]))
        await asyncio.sleep(0.1)
        assert not unsafe.done()
        # decisions see the count all the same
        assert history.sparse(START + 2, 60).hit_count.tolist() == [1.0, 2.0]
        assert store.state.waiting == 2
        disk.free()
        await waiting
        assert await unsafe == {"accepted": 1, "rejected": []}
        assert store.state.degraded is None
        again = await store.load_history(START + 2)
    assert again.sparse(START + 2, 60).hit_count.tolist() == [1.0, 2.0]


async def test_a_sender_that_repeats_while_the_disk_is_full_is_counted_once(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path / "prewarm.db", QUICK)
    async with disk.store as store:
        history = await store.load_history(START)
        history.index("ns/f")
        await fill(store)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(ingest(store, history, 1, [batch(START, {0: 4.0})]), 0.05)
        disk.free()
        assert await ingest(store, history, 1, [batch(START, {0: 4.0})]) == {"accepted": 1, "rejected": []}
        again = await store.load_history(START + 1)
    assert history.sparse(START + 1, 60).hit_count.tolist() == [4.0]
    assert again.sparse(START + 1, 60).hit_count.tolist() == [4.0]


@pytest.mark.parametrize("freed", [True, False], ids=["the disk is freed", "the store is closed"])
async def test_whoever_gave_up_waiting_does_not_stop_the_writing(tmp_path: Path, freed: bool) -> None:
    disk = SmallDisk(tmp_path / "prewarm.db", QUICK)
    async with disk.store as store:
        history = await store.load_history(START)
        history.index("ns/f")
        waiting = await fill(store)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(store.submit(lambda _: None), 0.05)
        if freed:
            disk.free()
            await waiting
            assert await ingest(store, history, 1, [batch(START, {0: 4.0})]) == {"accepted": 1, "rejected": []}
    if not freed:
        with pytest.raises(StoreDownError):
            await waiting


async def test_what_waits_is_bounded_and_closing_fails_what_was_never_safe(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path / "prewarm.db", WriterSettings(3, first_pause_s=0.02, longest_pause_s=0.05, close_s=0.2))
    store = disk.store
    history = await store.load_history(START)
    history.index("ns/f")
    waiting: list[asyncio.Task[Any]] = [await fill(store)]
    waiting += [asyncio.create_task(ingest(store, history, number, [batch(START, {0: 1.0})])) for number in (1, 2)]
    await degraded(store)
    await asyncio.sleep(0.2)
    with pytest.raises(StoreBusyError, match=r"3 writes are waiting, no room for more \(OperationalError: .*full"):
        await ingest(store, history, 3, [batch(START, {0: 100.0})])
    assert history.sparse(START + 1, 60).hit_count.tolist() == [2.0]
    await asyncio.to_thread(store.close)
    for result in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(result, StoreDownError)
    with pytest.raises(StoreBusyError, match="closed"):
        await store.submit(lambda _: None)


def acknowledged_until_degraded(address: str, bytes_a_file: int) -> int:
    """Start the writer under a limit on file sizes and kill it once it says so; returns its acknowledgements."""
    command = [sys.executable, "-m", "tests.faults.writing", address, str(bytes_a_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None and writer.stderr is not None
        assert "store degraded, keeping writes in memory and retrying" in writer.stderr.readline()
        writer.kill()
        return len(writer.stdout.read().split())


async def test_a_file_size_limit_stops_acknowledging_and_keeps_what_was_said(tmp_path: Path) -> None:
    file = tmp_path / "prewarm.db"
    acknowledged = acknowledged_until_degraded(str(file), 400_000)
    assert acknowledged > 0
    async with Store.open(str(file), Retention()) as store:
        history = await store.load_history(START + acknowledged)
    # at most the one batch that was on its way
    assert acknowledged <= history.sparse(START + acknowledged, 1440).hit_count.sum() <= acknowledged + 1


async def test_one_bad_job_fails_alone(address: str) -> None:
    def broken(connection: Connection) -> None:
        connection.exec_driver_sql("SELECT nothing FROM nowhere")

    async with Store.open(address, Retention()) as store:
        put = partial(put_document, kind="mode", name="fleet", body={"default": "shadow"}, stamp=Stamp("ana", 0.0))
        jobs = [store.submit(put), store.submit(broken), store.submit(lambda _: 1 / 0), store.submit(put)]
        results = await asyncio.gather(*jobs, return_exceptions=True)
        assert [type(result).__name__ for result in results][2:] == ["ZeroDivisionError", "NoneType"]
        assert "nowhere" in str(results[1])
        assert store.state.degraded is None
        assert await store.read(partial(documents, kind="mode")) == {"fleet": {"default": "shadow"}}


@pytest.mark.postgres
async def test_a_lost_server_is_waited_for(postgres_server: Server) -> None:
    empty_database(postgres_server)
    async with Store.open(postgres_server.address, Retention(), QUICK) as store:
        history = await store.load_history(START)
        history.index("ns/f")
        await ingest(store, history, 1, [batch(START, {0: 1.0})])
        await asyncio.to_thread(postgres_server.stop)
        try:
            unsafe = asyncio.create_task(ingest(store, history, 2, [batch(START + 1, {0: 2.0})]))
            assert "OperationalError" in await degraded(store)
            with pytest.raises(StoreDownError, match=r"^store: [^\n]+$"):
                await store.read(partial(documents, kind="mode"))
            assert not unsafe.done()
            assert history.sparse(START + 2, 60).hit_count.tolist() == [1.0, 2.0]
        finally:
            await asyncio.to_thread(postgres_server.start)
        assert await asyncio.wait_for(unsafe, 10) == {"accepted": 1, "rejected": []}
        again = await store.load_history(START + 2)
    assert again.sparse(START + 2, 60).hit_count.tolist() == [1.0, 2.0]


async def test_a_restart_at_the_peak_knows_the_peak_and_what_it_missed(address: str) -> None:
    peak = dict.fromkeys(range(3), 500.0)
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START)
        for row in range(3):
            history.index(f"shop/f{row}")
        for minute in range(30):
            await ingest(store, history, minute, [batch(START + minute, peak)])
    down_until = START + 40
    async with Store.open(address, Retention()) as store:
        again = await store.load_history(down_until)
        codes, age_s = again.data_state(down_until * 60.0)
        assert [DATA_STATES[code] for code in codes] == ["stale"] * 3
        assert age_s.tolist() == [600.0] * 3
        rows = np.arange(3, dtype=np.int32)
        missed = again.dense(rows, down_until, minutes=40)
        assert (missed[:, :30] == 500).all()
        assert np.isnan(missed[:, 30:]).all()
        # ten of fifteen minutes are missing: not a third of the peak, but unknown
        assert np.isnan(again.dense(rows, START + 45, minutes=15, step_minutes=15)).all()
        await ingest(store, again, 99, [batch(down_until, peak)])
        codes, _ = again.data_state((down_until + 1) * 60.0)
        assert [DATA_STATES[code] for code in codes] == ["ok"] * 3


def test_an_unreachable_server_is_refused_in_one_line() -> None:
    with pytest.raises(PrewarmError, match=r"^database: cannot be opened: OperationalError: [^\n]+$"):
        Store.open("postgresql://prewarm@127.0.0.1:9/none", Retention())
