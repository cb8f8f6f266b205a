"""The load of `bench api`: counts whole answers only, tells failures, and asks as often as the server can answer."""

from __future__ import annotations

import asyncio

from aiohttp import web

from prewarm.bench.api import Load, content_length, load_for
from prewarm.bench.api_server import bare_app


def test_the_length_of_an_answer_is_read_from_its_head() -> None:
    assert content_length(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nA: b") == 12
    assert content_length(b"HTTP/1.1 204 No Content") == 0


async def test_every_answer_is_timed_and_failures_are_told() -> None:
    runner = web.AppRunner(bare_app(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    good = Load(port, [b"GET /bare HTTP/1.1\r\nHost: localhost\r\n\r\n"])
    bad = Load(port, [b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"])
    try:
        await asyncio.gather(load_for(good, 0.3, 4), load_for(bad, 0.3, 2))
    finally:
        await runner.cleanup()
    assert len(good.latencies) > 20
    assert good.failed == 0
    assert bad.failed == len(bad.latencies) > 0
    assert 0 < good.p99_ms() < 1_000
    assert good.per_s > 50
