"""Each fault is what it says, seen by a plain client through the proxy in front of a plain server."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime

import pytest
from aiohttp import (
    ClientConnectionError,
    ClientOSError,
    ClientPayloadError,
    ClientSession,
    ClientTimeout,
    ServerDisconnectedError,
    TCPConnector,
    web,
)
from aiohttp.test_utils import TestServer

from tests.cluster.faultproxy import FaultProxy
from tests.cluster.faults import (
    Answer,
    Delay,
    Drip,
    GoneLine,
    LostLine,
    OversizeLine,
    Rule,
    Skew,
    TruncatedLine,
    gone_line,
)

WATCH = "/api/v1/pods?watch=1"


def line_of(number: int) -> bytes:
    return json.dumps({"type": "ADDED", "object": {"metadata": {"name": f"pod-{number}"}}}).encode() + b"\n"


async def watch_pods(request: web.Request) -> web.StreamResponse:
    """Three lines at once, and one more for every POST; for ever."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    more: asyncio.Queue[bytes] = asyncio.Queue()
    request.app[QUEUES].append(more)
    await response.write(line_of(1) + line_of(2) + line_of(3))
    while True:
        await response.write(await more.get())


QUEUES: web.AppKey[list[asyncio.Queue[bytes]]] = web.AppKey("queues")


async def echo(request: web.Request) -> web.Response:
    body = await request.text()
    return web.json_response({"method": request.method, "at": request.raw_path, "body": body}, status=201)


async def add_line(request: web.Request) -> web.Response:
    for queue in request.app[QUEUES]:
        queue.put_nowait(await request.read())
    return web.Response()


async def pods(request: web.Request) -> web.StreamResponse:
    return await (watch_pods(request) if "watch" in request.query else echo(request))


@pytest.fixture
async def server() -> AsyncIterator[TestServer]:
    app = web.Application()
    app[QUEUES] = []
    app.router.add_get("/api/v1/pods", pods)
    app.router.add_post("/line", add_line)
    app.router.add_route("*", "/{path:.*}", echo)
    started = TestServer(app, shutdown_timeout=0.1)
    await started.start_server()
    yield started
    await started.close()


@pytest.fixture
async def proxy(server: TestServer) -> AsyncIterator[FaultProxy]:
    async with FaultProxy.open(str(server.make_url("")).rstrip("/")) as opened:
        yield opened


@pytest.fixture
async def client(proxy: FaultProxy) -> AsyncIterator[ClientSession]:
    trust = ssl.create_default_context(cadata=proxy.ca_pem.decode())
    async with ClientSession(proxy.url, connector=TCPConnector(ssl=trust), timeout=ClientTimeout(total=5.0)) as session:
        yield session


async def test_without_a_fault_everything_passes_and_is_seen(client: ClientSession, proxy: FaultProxy) -> None:
    async with client.put("/apis/x%2Fy?a=%20b", data="text", headers={"Authorization": "Bearer t"}) as answer:
        assert answer.status == 201
        assert await answer.json() == {"method": "PUT", "at": "/apis/x%2Fy?a=%20b", "body": "text"}
    (seen,) = proxy.seen
    assert (seen.method, seen.path, seen.authorization, seen.status) == ("PUT", "/apis/x/y", "Bearer t", 201)


async def test_a_client_that_does_not_trust_the_proxy_is_not_served(proxy: FaultProxy) -> None:
    async with ClientSession() as stranger:
        with pytest.raises(ClientConnectionError, match="certificate"):
            await stranger.get(proxy.url)
    assert proxy.seen == []


@pytest.mark.parametrize(
    ("fault", "retry_after"),
    [(Answer(429, "TooManyRequests", retry_after_s=3), "3"), (Answer(503, "ServiceUnavailable"), None)],
    ids=["429", "503"],
)
async def test_refusals_are_in_kubernetes_form_and_end_after_their_times(
    client: ClientSession, proxy: FaultProxy, fault: Answer, retry_after: str | None
) -> None:
    proxy.add(fault, "/api/v1/nodes", times=2)
    assert [(await client.get("/api/v1/nodes")).status for _ in range(3)] == [fault.status, fault.status, 201]
    proxy.add(fault, "/api/v1/nodes", times=1)
    async with client.get("/api/v1/nodes") as answer:
        body = await answer.json()
        assert (body["kind"], body["code"], body["reason"]) == ("Status", fault.status, fault.reason)
        assert answer.headers.get("Retry-After") == retry_after


async def test_a_rule_holds_for_its_path_method_and_kind_only(client: ClientSession, proxy: FaultProxy) -> None:
    proxy.rules.append(Rule(Answer(410, "Expired"), path="/api/v1/(nodes|pods)", method="GET", watch=False))
    assert (await client.get("/api/v1/nodes")).status == 410
    assert (await client.post("/api/v1/nodes")).status == 201
    assert (await client.get("/api/v1/nodes/n1")).status == 201
    async with client.get(WATCH) as watch:
        assert watch.status == 200
    proxy.rules.clear()
    assert (await client.get("/api/v1/nodes")).status == 201


async def test_a_delay_and_a_skewed_clock(client: ClientSession, proxy: FaultProxy) -> None:
    proxy.add(Delay(0.3), times=1)
    proxy.add(Skew(-600.0))
    began = time.monotonic()
    async with client.get("/") as answer:
        assert time.monotonic() - began >= 0.3
        off_s = parsedate_to_datetime(answer.headers["Date"]).timestamp() - time.time()
    assert off_s == pytest.approx(-600.0, abs=2.0)


async def test_a_cut_resets_what_is_open_and_refuses_what_is_new(client: ClientSession, proxy: FaultProxy) -> None:
    async with client.get(WATCH) as watch:
        assert await watch.content.readline() == line_of(1)
        await proxy.link.cut()
        with pytest.raises((ClientPayloadError, ClientOSError)):
            while await watch.content.readline():
                pass
    with pytest.raises(ClientConnectionError):
        await client.get("/")
    await proxy.link.restore()
    assert (await client.get("/")).status == 201


async def test_half_open_swallows_silently_and_the_dead_stay_dead(
    client: ClientSession, proxy: FaultProxy, server: TestServer
) -> None:
    async with client.get(WATCH) as watch, ClientSession(server.make_url("")) as direct:
        for number in (1, 2, 3):
            assert await watch.content.readline() == line_of(number)
        proxy.link.half_open()
        await direct.post("/line", data=line_of(4))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(watch.content.readline(), 0.2)
        with pytest.raises(TimeoutError):
            await client.get("/", timeout=ClientTimeout(total=0.2))
        await proxy.link.restore()
        assert (await client.get("/")).status == 201
        await direct.post("/line", data=line_of(5))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(watch.content.readline(), 0.2)


async def test_a_slow_link(client: ClientSession, proxy: FaultProxy) -> None:
    await client.get("/")
    proxy.link.bytes_per_s = 2_000.0
    began = time.monotonic()
    async with client.post("/", data="x" * 500) as answer:
        assert (await answer.json())["body"] == "x" * 500
    assert time.monotonic() - began >= 0.4


async def test_gone_comes_in_place_of_the_next_line_and_ends_the_watch(
    client: ClientSession, proxy: FaultProxy
) -> None:
    proxy.add(GoneLine(), watch=True, times=1)
    async with client.get(WATCH) as watch:
        lines = (await watch.read()).splitlines()
    event = json.loads(lines[0])
    assert (len(lines), event["type"], event["object"]["code"]) == (1, "ERROR", 410)


async def test_a_fault_added_later_strikes_a_watch_that_is_open(
    client: ClientSession, proxy: FaultProxy, server: TestServer
) -> None:
    async with client.get(WATCH) as watch, ClientSession(server.make_url("")) as direct:
        for number in (1, 2, 3):
            assert await watch.content.readline() == line_of(number)
        proxy.add(LostLine(), times=1)
        for number in (4, 5):
            await direct.post("/line", data=line_of(number))
        assert await watch.content.readline() == line_of(5)
        (stream,) = proxy.streams
        assert proxy.streams[stream] == "/api/v1/pods"
        await stream.write(gone_line())
        assert await watch.content.readline() == gone_line()


async def test_an_oversize_line_is_still_json_and_so_long(client: ClientSession, proxy: FaultProxy) -> None:
    proxy.add(OversizeLine(3_000_000), times=1)
    async with client.get(WATCH) as watch:
        line = await watch.content.readexactly(3_000_000)
        assert (line[-1:], line.count(b"\n")) == (b"\n", 1)
        assert json.loads(line) == json.loads(line_of(1))
        assert await watch.content.readline() == line_of(2)


@pytest.mark.parametrize("broken", [False, True], ids=["ended", "broken-off"])
async def test_a_truncated_line(client: ClientSession, proxy: FaultProxy, *, broken: bool) -> None:
    proxy.add(TruncatedLine(broken=broken), times=1)
    async with client.get(WATCH) as watch:
        half = await watch.content.readexactly(len(line_of(1)) // 2)
        assert line_of(1).startswith(half)
        if broken:
            with pytest.raises((ClientPayloadError, ClientOSError)):
                await watch.content.read()
        else:
            assert await watch.content.read() == b""


async def test_a_drip_takes_its_time(client: ClientSession, proxy: FaultProxy) -> None:
    proxy.add(Drip(bytes_per_s=200.0), times=1)
    began = time.monotonic()
    async with client.get(WATCH) as watch:
        assert await watch.content.readline() == line_of(1)
    assert time.monotonic() - began >= len(line_of(1)) / 200.0 * 0.8


async def test_a_server_that_is_away_breaks_the_connection(
    client: ClientSession, proxy: FaultProxy, server: TestServer
) -> None:
    await server.close()
    with pytest.raises((ServerDisconnectedError, ClientOSError)):
        await client.get("/")


async def test_a_client_that_leaves_a_watch_ends_it_at_the_server(client: ClientSession, proxy: FaultProxy) -> None:
    async with client.get(WATCH) as watch:
        await watch.content.readline()
        assert len(proxy.streams) == 1
    for _ in range(100):
        if not proxy.streams:
            break
        await asyncio.sleep(0.02)
    assert proxy.streams == {}
    assert proxy.count(path="/api/v1/pods", watch=True) == 1
