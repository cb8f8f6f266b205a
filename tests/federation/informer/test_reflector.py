"""A reflector against a server that expires versions, cuts, goes silent, lies, and comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from random import Random

import pytest

from federation.informer.read.nodes import NodeFacts
from federation.informer.reflect import course, resource
from federation.informer.reflect.decode import Event
from federation.informer.reflect.reflector import Reflector, ReflectorOptions, Standing
from federation.informer.reflect.store import Store
from federation.members.api import UnreachableError
from federation.members.client import ClientOptions, MemberClient
from tests.federation.fakeapi import (
    CONFIGMAPS,
    NODES,
    SERVICES,
    FakeApi,
    body,
    fake_api,
    hang,
    line,
    refuse,
    status,
    stream,
    until,
)
from tests.federation.informer.made import Json, node

CLIENT = ClientOptions(deadline_s=2.0, silence_s=0.3)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "FIRST_PAUSE_S", 0.02)


@asynccontextmanager
async def reflecting(
    api: FakeApi, options: ReflectorOptions | None = None, client: ClientOptions = CLIENT
) -> AsyncIterator[Reflector[NodeFacts]]:
    kept = resource.NODES
    member = MemberClient(api.access(), client, rng=Random(1))
    reflector = Reflector(
        member, kept, Store(kept.read, lambda *_: None), options or ReflectorOptions(), Random(2), time.time
    )
    task = asyncio.create_task(reflector.run())
    try:
        yield reflector
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await member.close()


def has(reflector: Reflector[NodeFacts], *names: str) -> Callable[[], bool]:
    return lambda: list(reflector.store.values) == list(names)


async def test_it_lists_and_then_follows_every_change() -> None:
    async with fake_api() as api:
        api.put(NODES, node("n1"))
        async with reflecting(api) as reflector:
            await api.watched(NODES)
            assert list(reflector.store) == ["n1"]
            api.put(NODES, node("n2", cpu="8"))
            api.put(NODES, node("n1", cordoned=True))
            await until(has(reflector, "n1", "n2"))
            assert reflector.store.values["n2"].allocatable[0] == ("cpu", 8000)
            assert reflector.store.values["n1"].closed == "cordoned"
            api.remove(NODES, "n1")
            await until(has(reflector, "n2"))
            assert (reflector.report.standing, reflector.report.lists) == (Standing.LIVE, 1)


async def test_a_watch_asks_for_bookmarks_an_end_and_a_version() -> None:
    async with fake_api() as api, reflecting(api):
        await api.watched(NODES)
        (watch,) = api.asked(NODES, watches=True)
        assert watch.query["resourceVersion"] == "100"
        assert watch.query["allowWatchBookmarks"] == "true"
        assert 300 <= int(watch.query["timeoutSeconds"]) <= 600
        (listing,) = api.asked(NODES)
        assert "resourceVersion" not in listing.query


async def test_a_large_collection_comes_in_pages() -> None:
    async with fake_api() as api:
        for number in range(25):
            api.put(NODES, node(f"n{number:02}"))
        async with reflecting(api, ReflectorOptions(page=10)) as reflector:
            await until(lambda: len(reflector.store) == 25)
            assert [seen.query.get("continue") for seen in api.asked(NODES)] == [None, "10", "20"]


async def test_a_page_that_expired_means_all_pages_again() -> None:
    async with fake_api() as api:
        for number in range(25):
            api.put(NODES, node(f"n{number:02}"))
        first: Json = {"metadata": {"resourceVersion": "100", "continue": "10"}, "items": [node("ghost")]}
        api.program(NODES, body(first), refuse(410, "Expired", "The provided continue parameter is too old"))
        async with reflecting(api, ReflectorOptions(page=10)) as reflector:
            await until(lambda: len(reflector.store) == 25)
            assert "ghost" not in set(reflector.store)
            assert [seen.query.get("continue") for seen in api.asked(NODES)] == [None, "10", None, "10", "20"]


EXPIRED = {
    "as a status of the watch": refuse(410, "Expired", "too old"),
    "as an event": stream(line("ERROR", status(410, "Expired", "too old resource version"))),
    "as an event of 500 with a text": stream(line("ERROR", status(500, "InternalError", "too old resource version"))),
    "as a status of 500 with a text": refuse(500, "InternalError", "etcd: too old resource version: 1 (9)"),
    "as a reason without a code": stream(line("ERROR", {"kind": "Status", "reason": "Gone"})),
}


@pytest.mark.parametrize("answer", EXPIRED.values(), ids=EXPIRED)
async def test_an_expired_version_is_listed_again_in_whatever_form_it_comes(answer: Callable[..., object]) -> None:
    async with fake_api() as api:
        api.put(NODES, node("n1"))
        listing = body({"metadata": {"resourceVersion": "50"}, "items": [{**node("old")}]})
        api.program(NODES, listing, answer)  # type: ignore[arg-type]
        async with reflecting(api) as reflector:
            await until(has(reflector, "n1"))
            await api.watched(NODES)
            assert reflector.report.lists == 2
            assert [seen.query["resourceVersion"] for seen in api.asked(NODES, watches=True)] == ["50", "101"]


async def test_watches_that_end_at_once_without_a_line_are_listed_again() -> None:
    async with fake_api() as api:
        listing = body({"metadata": {"resourceVersion": "50"}, "items": []})
        api.program(NODES, listing, stream(), stream())
        api.put(NODES, node("n1"))
        async with reflecting(api) as reflector:
            await until(has(reflector, "n1"))
            assert len(api.asked(NODES)) == 2


async def test_a_cut_watch_goes_on_from_the_last_version_without_a_list() -> None:
    async with fake_api() as api:
        api.put(NODES, node("n1"))
        event = line("ADDED", {"metadata": {"name": "n2", "resourceVersion": "107", "uid": "u"}})
        api.program(NODES, body({"metadata": {"resourceVersion": "105"}, "items": []}), stream(event, then="cut"))
        async with reflecting(api) as reflector:
            await api.watched(NODES)
            assert list(reflector.store) == ["n2"]
            assert api.asked(NODES, watches=True)[-1].query["resourceVersion"] == "107"
            assert reflector.report.lists == 1


async def test_a_half_open_watch_is_noticed_by_its_silence() -> None:
    async with fake_api() as api:
        api.put(NODES, node("n1"))
        api.program(NODES, body({"metadata": {"resourceVersion": "101"}, "items": []}), stream(then="silent"))
        async with reflecting(api) as reflector:
            await until(lambda: len(api.asked(NODES, watches=True)) == 2)
            assert reflector.report.lists <= 2


async def test_bookmarks_move_the_version_and_the_age() -> None:
    async with fake_api() as api, reflecting(api) as reflector:
        await api.watched(NODES)
        before = reflector.report.seen_at
        api.version = 190
        api.bookmark(NODES)
        await until(lambda: reflector.report.seen_at != before)
        api.end_watches(NODES)
        await until(lambda: len(api.asked(NODES, watches=True)) == 2)
        assert api.asked(NODES, watches=True)[-1].query["resourceVersion"] == "190"


async def test_an_object_of_five_mebibytes_is_read() -> None:
    async with fake_api() as api, reflecting(api, client=ClientOptions(deadline_s=5)) as reflector:
        await api.watched(NODES)
        big = node("big")
        big["metadata"]["annotations"] = {"x": "y" * (5 << 20)}
        api.put(NODES, big)
        await until(has(reflector, "big"))
        assert reflector.report.lists == 1
        assert "y" * 100 not in repr(reflector.store.values)


@pytest.mark.parametrize("rubbish", [b"{broken\n", b"[]\n", b'{"type":"ADDED","object":{}}\n', b"\xff\xfe\n"])
async def test_a_line_that_cannot_be_read_is_survived_by_listing(rubbish: bytes) -> None:
    async with fake_api() as api, reflecting(api) as reflector:
        await api.watched(NODES)
        api.put(NODES, node("n1"))
        api.raw(NODES, rubbish)
        await until(lambda: reflector.report.lists == 2)
        await until(has(reflector, "n1"))
        assert len(reflector.store) == 1, "the rubbish is in no store"


@pytest.mark.parametrize(
    "lie",
    [
        {},
        {"metadata": {"resourceVersion": "9"}},
        {"metadata": {"resourceVersion": "9"}, "items": {}},
        {"metadata": {}, "items": []},
        {"kind": "Status", "status": "Failure", "metadata": {}},
    ],
)
async def test_an_answer_that_is_no_list_does_not_empty_the_store(lie: Json) -> None:
    async with fake_api() as api:
        api.put(NODES, node("n1"))
        async with reflecting(api, ReflectorOptions(resync_s=0.0)) as reflector:
            await api.watched(NODES)
            api.always(NODES, body(lie))
            api.end_watches(NODES)
            await until(lambda: "is none" in reflector.report.why)
            assert list(reflector.store) == ["n1"]


async def test_a_list_without_items_is_an_empty_one_as_go_writes_it() -> None:
    async with fake_api() as api:
        api.program(NODES, body({"metadata": {"resourceVersion": "101"}, "items": None}))
        async with reflecting(api) as reflector:
            await until(lambda: reflector.report.watches == 1)
            assert (len(reflector.store), reflector.report.lists) == (0, 1)


async def test_what_is_forbidden_is_said_and_asked_for_rarely() -> None:
    async with fake_api() as api:
        api.always(NODES, refuse(403, "Forbidden", "cannot list nodes"))
        async with reflecting(api) as reflector:
            await until(lambda: reflector.report.standing is Standing.FORBIDDEN)
            await asyncio.sleep(0.1)
            assert len(api.asked(NODES)) == 1
            assert "cannot list nodes" in reflector.report.why
            assert reflector.report.seen_at is None


async def test_a_member_that_lets_us_list_but_not_watch_is_listed_again_and_again() -> None:
    async with fake_api() as api:
        listing = body({"metadata": {"resourceVersion": "50"}, "items": [node("n1")]})
        api.program(NODES, listing, refuse(403, "Forbidden", "cannot watch"), listing, refuse(403, "Forbidden"))
        async with reflecting(api) as reflector:
            await until(lambda: reflector.report.lists == 2)
            assert list(reflector.store) == ["n1"]
            assert reflector.report.seen_at is not None


async def test_rights_that_come_later_are_used() -> None:
    async with fake_api() as api:
        api.put(NODES, node("n1"))
        api.program(NODES, refuse(403, "Forbidden"))
        async with reflecting(api, ReflectorOptions(settled_s=0.05)) as reflector:
            await until(has(reflector, "n1"))
            assert reflector.report.standing is Standing.LIVE


async def test_a_collection_that_does_not_exist_is_absent_and_not_an_error() -> None:
    async with fake_api() as api:
        kept = resource.SERVICES
        client = MemberClient(api.access(), CLIENT, rng=Random(1))
        options = ReflectorOptions(settled_s=0.05)
        reflector = Reflector(client, kept, Store(kept.read, lambda *_: None), options, Random(2), time.time)
        task = asyncio.create_task(reflector.run())
        await until(lambda: reflector.report.standing is Standing.ABSENT)
        api.objects[SERVICES] = {}
        api.put(SERVICES, {"metadata": {"name": "shop", "namespace": "demo"}})
        await until(lambda: len(reflector.store) == 1)
        assert (reflector.report.standing, reflector.report.accidents) == (Standing.LIVE, 0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await client.close()


async def test_names_are_asked_for_as_metadata_only() -> None:
    async with fake_api() as api:
        kept = resource.NAMES["configmap"]
        client = MemberClient(api.access(), CLIENT, rng=Random(1))
        reflector = Reflector(client, kept, Store(kept.read, lambda *_: None), ReflectorOptions(), Random(2), time.time)
        task = asyncio.create_task(reflector.run())
        await api.watched(CONFIGMAPS)
        forms = [seen.headers["Accept"] for seen in api.requests]
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await client.close()
    assert forms[0].startswith("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
    assert forms[1].startswith("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")


async def test_everything_is_listed_afresh_every_so_often() -> None:
    async with fake_api() as api:
        api.put(NODES, node("n1"))
        async with reflecting(api, ReflectorOptions(resync_s=0.05)) as reflector:
            await api.watched(NODES)
            await asyncio.sleep(0.1)
            api.bookmark(NODES)
            await until(lambda: reflector.report.lists == 2)
            assert list(reflector.store) == ["n1"]


async def test_an_error_of_ours_is_counted_logged_and_followed_by_a_list(caplog: pytest.LogCaptureFixture) -> None:
    async with fake_api() as api, reflecting(api) as reflector:
        await api.watched(NODES)

        def stumble(event: Event) -> None:
            raise RuntimeError("a bug")

        reflector.store.apply = stumble  # type: ignore[method-assign]
        api.put(NODES, node("n1"))
        await until(has(reflector, "n1"))
        assert reflector.report.accidents == 1
        assert "a bug" in caplog.text


async def test_a_member_that_goes_dark_keeps_what_was_seen_with_its_age() -> None:
    async with fake_api() as api:
        api.put(NODES, node("n1"))
        async with reflecting(api) as reflector:
            await api.watched(NODES)
            api.always(NODES, refuse(503, "ServiceUnavailable"))
            api.end_watches(NODES)
            await until(lambda: reflector.report.standing is Standing.FAILING)
            seen = reflector.report.seen_at
            await asyncio.sleep(0.1)
            assert reflector.report.seen_at == seen
            assert list(reflector.store) == ["n1"]
            api.always(NODES, None)
            await until(lambda: reflector.report.standing is Standing.LIVE)


async def test_a_member_that_is_back_is_watched_at_once_whatever_pause_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "FIRST_PAUSE_S", 0.3)
    async with fake_api() as api, reflecting(api, client=ClientOptions(deadline_s=0.1)) as reflector:
        await api.watched(NODES)
        api.always(NODES, hang())
        api.end_watches(NODES)
        await until(lambda: not reflector.client.back.is_set())
        monkeypatch.setattr(course, "FIRST_PAUSE_S", 1_000.0)
        monkeypatch.setattr(course, "LONGEST_PAUSE_S", 1_000.0)
        api.put(NODES, node("n1"))
        api.always(NODES, None)
        while not reflector.client.back.is_set():
            with suppress(UnreachableError):
                await reflector.client.read("/version")
            await asyncio.sleep(0.05)
        await until(has(reflector, "n1"), 5.0)
        assert reflector.client.back.is_set()
