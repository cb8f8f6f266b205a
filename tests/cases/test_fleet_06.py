"""Reported: a watch that expired inside a 200 was read as nodes, retried with "None", and the view stood still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from random import Random
from typing import Any

from federation.informer.read.nodes import NodeFacts
from federation.informer.reflect import resource
from federation.informer.reflect.reflector import Reflector, ReflectorOptions
from federation.informer.reflect.store import Store
from federation.members.client import ClientOptions, MemberClient
from tests.federation.fakeapi import NODES, FakeApi, body, fake_api, stream, until

LIST_1 = {
    "kind": "NodeList",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "100"},
    "items": [{"metadata": {"name": "n1", "resourceVersion": "90"}}],
}
WATCH_1 = b"""\
{"type": "ADDED", "object": {"kind": "Node", "metadata": {"name": "n2", "resourceVersion": "120"}}}
{"type": "BOOKMARK", "object": {"kind": "Node", "metadata": {"resourceVersion": "150"}}}
{"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, \
"message": "too old resource version"}}
"""
LIST_2 = {
    "kind": "NodeList",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "900"},
    "items": [
        {"metadata": {"name": "n2", "resourceVersion": "800"}},
        {"metadata": {"name": "n3", "resourceVersion": "850"}},
    ],
}


@asynccontextmanager
async def reflecting(api: FakeApi, handled: list[dict[str, Any]]) -> AsyncIterator[Reflector[NodeFacts]]:
    """A reflector of nodes that shows what its node-handling code was given."""

    def read(raw: dict[str, Any]) -> NodeFacts:
        handled.append(raw)
        return resource.NODES.read(raw)

    kept = replace(resource.NODES, read=read)
    client = MemberClient(api.access(), ClientOptions(), rng=Random(1))
    store = Store(kept.read, lambda *_: None)
    reflector = Reflector(client, kept, store, ReflectorOptions(), Random(1), time.time)
    task = asyncio.create_task(reflector.run())
    try:
        yield reflector
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await client.close()


async def test_after_the_error_it_lists_once_and_watches_from_there() -> None:
    handled: list[dict[str, Any]] = []
    async with fake_api() as api:
        api.program(NODES, body(LIST_1), stream(WATCH_1), body(LIST_2), stream(then="silent"))
        async with reflecting(api, handled) as reflector:
            await until(lambda: len(api.requests) == 4)
            await until(lambda: reflector.report.watches == 2)
            assert set(reflector.store) == {"n2", "n3"}
    lists, watches = api.asked(NODES), api.asked(NODES, watches=True)
    assert len(lists) == 2
    assert [seen.query["resourceVersion"] for seen in watches] == ["100", "900"]
    after = api.requests[2:]
    assert {seen.query.get("resourceVersion") for seen in after}.isdisjoint({"None", "", "120", "150"})
    assert [raw["metadata"]["name"] for raw in handled] == ["n1", "n2", "n2", "n3"]
    assert all(raw.get("kind") != "Status" for raw in handled)


async def test_repeated_410s_back_off() -> None:
    async with fake_api() as api:
        expired = stream(WATCH_1.splitlines(keepends=True)[-1])
        api.program(NODES, *[answer for _ in range(50) for answer in (body(LIST_1), expired)])
        async with reflecting(api, []) as reflector:
            await asyncio.sleep(2.5)
            assert list(reflector.store) == ["n1"]
    assert 2 <= len(api.asked(NODES)) <= 4  # at 0, about 0.6 and 1.8 s, then not before 3 s
