"""The record of what was about to be done, on a real database, through a crash of everything else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.journal import Intent, StoreJournal, Undo, intent_json, intent_of
from federation.apply.rollout.means import Means
from federation.apply.rollout.work import Stage, Verdict, Work, work_json, work_of
from federation.apply.writer import writers_of
from prewarm.history import Retention
from prewarm.store import Store, audit_entries
from tests.federation.apply.fake import Crash, FakeApi, on_write
from tests.federation.apply.made import NOW, PATH, REF, Says, rollout
from tests.federation.manifest.made import deployment

TOKEN = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "t", "namespace": "shop"},
    "data": {"a": "c2VjcmV0"},
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await asyncio.to_thread(Store.open, f"sqlite:///{tmp_path}/state.db", Retention()) as store:
        yield store


def intent(**more: object) -> Intent:
    undo = (Undo("eu-1", REF, deployment()), Undo("eu-2", REF, None), Undo("eu-2", REF, None, "stays"))
    drain = (Work("eu-3", Stage.DRAIN, (deployment(),), (REF,), 2),)
    told = {"id": "p1", "key": "shop/checkout", "at": NOW, "force": True, "stage": Stage.SURGE} | more
    return Intent(undo=undo, drain=drain, **told)  # type: ignore[arg-type]


def test_an_intent_comes_back_as_it_was_kept() -> None:
    for one in (intent(), intent(written=("eu-1",)), intent().drained_next().settle("eu-3")):
        assert intent_of(intent_json(one)) == one


def test_what_is_open_follows_the_stage() -> None:
    assert intent().open_members == {"eu-1", "eu-2"}
    assert intent().settle("eu-1").open_members == {"eu-2"}
    assert intent().settle("eu-1").drained_next().open_members == {"eu-3"}


def test_a_kept_work_holds_no_secret() -> None:
    kept = work_json(Work("eu-1", Stage.SURGE, (TOKEN, deployment())))
    assert "c2VjcmV0" not in str(kept)
    assert work_of(kept).objects[1] == deployment()


async def test_intents_are_kept_oldest_first_and_leave_no_trace_once_over(store: Store) -> None:
    journal = StoreJournal(store)
    await journal.save(intent(id="late", at=NOW + 1))
    await journal.save(intent(id="early"))
    await journal.save(intent(id="early", written=("eu-1",)))
    assert [(one.id, one.written) for one in await journal.load()] == [("early", ("eu-1",)), ("late", ())]
    await journal.clear("early")
    await journal.clear("early")
    assert [one.id for one in await journal.load()] == ["late"]

    def entries(connection: Connection) -> int:
        return len(audit_entries(connection, limit=10))

    assert await store.read(entries) == 0


async def test_the_intent_is_on_disk_before_the_first_write_and_survives_the_process(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/state.db"
    apis = {name: FakeApi(name) for name in ("eu-1", "eu-2")}
    seen: list[int] = []
    second = on_write(2, Crash())

    def look(call: object) -> None:
        other = Store.open(address, Retention())
        seen.append(len(asyncio.run_coroutine_threadsafe(StoreJournal(other).load(), loop).result()))
        other.close()

    loop = asyncio.new_event_loop()
    runner = asyncio.get_running_loop().run_in_executor(None, loop.run_forever)
    async with await asyncio.to_thread(Store.open, address, Retention()) as store:
        carrier = Carrier(Means(writers_of(lambda: apis), StoreJournal(store), Says()))
        for api in apis.values():
            api.fault = lambda call: look(call) if call.method != "GET" else None
            api.after = second
        with pytest.raises(BaseExceptionGroup):
            await carrier.carry_out(rollout("p1", {"eu-1": 1, "eu-2": 1}, {}), now=NOW)
    loop.call_soon_threadsafe(loop.stop)
    await runner
    loop.close()
    assert seen == [1, 1]
    assert [PATH in api.objects for api in apis.values()] == [True, True]

    for api in apis.values():
        api.fault = api.after = lambda _: None
    async with await asyncio.to_thread(Store.open, address, Retention()) as store:
        journal = StoreJournal(store)
        [report] = await Carrier(Means(writers_of(lambda: apis), journal, Says())).resume()
        assert report.verdict is Verdict.UNDONE
        assert await journal.load() == ()
    assert [api.objects for api in apis.values()] == [{}, {}]
