"""A proxy in front of an API server that misbehaves on command: our link, our TLS, and HTTP altered by rules.

It ends TLS with a certificate of its own authority, because only so can it alter what is said; bearer tokens pass
through it, client certificates cannot. In front of it is a `Link`, so the connection itself can be cut or half-open.
What came through is kept in `seen`: a test can count lists, or look at the token that was sent.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from typing import get_args

import trustme
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector, web
from multidict import CIMultiDict

from tests.cluster.faultlink import Link
from tests.cluster.faults import (
    Answer,
    Delay,
    Drip,
    Fault,
    GoneLine,
    LineFault,
    LostLine,
    OversizeLine,
    Rule,
    Skew,
    TruncatedLine,
    gone_line,
    status_body,
    struck,
)

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length"}
_CHUNK = 64 * 1024
_BODY_MAX = 64 * 1024 * 1024
_NO_DEADLINE = ClientTimeout(total=None)


@dataclass(slots=True)
class Seen:
    """One request that came: when (monotonic seconds), what, and the status that it ended with; 0 while it is open."""

    at: float
    method: str
    path: str
    query: str
    authorization: str
    status: int = 0


class FaultProxy:
    """See the module; `async with FaultProxy.open(cluster.server, tls) as proxy:`."""

    def __init__(self, upstream: str, tls: ssl.SSLContext | None) -> None:
        """See `open`."""
        self.rules: list[Rule] = []
        """The faults that are on; may be changed at any time."""
        self.seen: list[Seen] = []
        self.streams: dict[web.StreamResponse, str] = {}
        """Watches that are open now, and their paths: a test may `await stream.write(line)` into them."""
        self.link: Link
        self._upstream, self._tls = upstream, tls
        self._client: ClientSession
        authority = trustme.CA(organization_name="prewarm-fault-proxy")
        self.ca_pem: bytes = authority.cert_pem.bytes()
        """Whom a client of the proxy must trust."""
        self._serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1", "localhost").configure_cert(self._serving)

    @classmethod
    @asynccontextmanager
    async def open(cls, upstream: str, tls: ssl.SSLContext | None = None) -> AsyncIterator[FaultProxy]:
        """A proxy for the server at `upstream`, whose certificate `tls` trusts (None for http)."""
        proxy = cls(upstream, tls)
        app = web.Application(client_max_size=_BODY_MAX)
        app.router.add_route("*", "/{path:.*}", proxy._handle)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        async with ClientSession(
            connector=TCPConnector(limit=0, ssl=tls or True), auto_decompress=False, timeout=_NO_DEADLINE
        ) as client:
            proxy._client = client
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=proxy._serving)
            await site.start()
            host, port = runner.addresses[0][:2]
            try:
                async with Link.open((host, port)) as proxy.link:
                    yield proxy
            finally:
                await runner.cleanup()

    @property
    def url(self) -> str:
        """Where clients go."""
        return f"https://127.0.0.1:{self.link.port}"

    def add(self, fault: Fault, path: str = ".*", *, watch: bool | None = None, times: int | None = None) -> Rule:
        """Switch a fault on; the returned rule may be taken out of `rules` again."""
        rule = Rule(fault, path, watch=watch, times=times)
        self.rules.append(rule)
        return rule

    def count(self, *, path: str, watch: bool) -> int:
        """How many requests came for exactly this path, watches or others."""
        return sum(one.path == path and _watches(one.query) == watch for one in self.seen)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = (request.method, request.path, _watches(request.query_string))
        authorization = request.headers.get("Authorization", "")
        seen = Seen(time.monotonic(), request.method, request.path, request.query_string, authorization)
        self.seen.append(seen)
        response = await self._answer(request, struck(self.rules, asked, _of_requests))
        seen.status = response.status
        return response

    async def _answer(self, request: web.Request, faults: tuple[Fault, ...]) -> web.StreamResponse:
        for fault in faults:
            if isinstance(fault, Delay):
                await asyncio.sleep(fault.seconds)
            if isinstance(fault, Answer):
                return _refusal(fault)
        skew_s = sum(fault.seconds for fault in faults if isinstance(fault, Skew))
        try:
            return await self._forward(request, skew_s)
        except ClientError:
            assert request.transport is not None
            request.transport.abort()
            return web.Response(status=502)

    async def _forward(self, request: web.Request, skew_s: float) -> web.StreamResponse:
        headers = CIMultiDict((key, value) for key, value in request.headers.items() if key.lower() not in _HOP_BY_HOP)
        headers["Accept-Encoding"] = "identity"
        body = await request.read()
        url = self._upstream + request.raw_path
        async with self._client.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        ) as answer:
            response = web.StreamResponse(status=answer.status, headers=_passed_on(answer, skew_s))
            await response.prepare(request)
            if _watches(request.query_string) and answer.status == 200:
                await self._relay_lines(request, answer, response)
            else:
                async for chunk in answer.content.iter_chunked(_CHUNK):
                    await response.write(chunk)
            await response.write_eof()
        return response

    async def _relay_lines(self, request: web.Request, answer: ClientResponse, response: web.StreamResponse) -> None:
        self.streams[response] = request.path
        try:
            async for line in _lines(answer):
                faults = struck(self.rules, (request.method, request.path, True), _of_lines)
                if not await _write_line(request, response, line, faults):
                    return
        finally:
            del self.streams[response]


async def _write_line(
    request: web.Request, response: web.StreamResponse, line: bytes, faults: tuple[Fault, ...]
) -> bool:
    """Write a line as the faults want it; False where the watch ends here."""
    for fault in faults:
        match fault:
            case LostLine():
                return True
            case GoneLine():
                await response.write(gone_line())
                return False
            case TruncatedLine(broken):
                await response.write(line[: len(line) // 2])
                if broken and request.transport is not None:
                    await asyncio.sleep(0.05)  # the half is on its way before the connection breaks
                    request.transport.abort()
                return False
            case OversizeLine(size):
                line = line.rstrip(b"\n").ljust(size - 1) + b"\n"
            case Drip(bytes_per_s):
                await _drip(response, line, bytes_per_s)
                return True
    await response.write(line)
    return True


async def _drip(response: web.StreamResponse, line: bytes, bytes_per_s: float) -> None:
    piece = max(1, int(bytes_per_s / 10))
    for start in range(0, len(line), piece):
        await response.write(line[start : start + piece])
        await asyncio.sleep(piece / bytes_per_s)


async def _lines(answer: ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in answer.content.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


def _passed_on(answer: ClientResponse, skew_s: float) -> CIMultiDict[str]:
    headers = CIMultiDict((key, value) for key, value in answer.headers.items() if key.lower() not in _HOP_BY_HOP)
    if skew_s and "Date" in headers:
        headers["Date"] = formatdate(parsedate_to_datetime(headers["Date"]).timestamp() + skew_s, usegmt=True)
    return headers


def _refusal(fault: Answer) -> web.Response:
    headers = {} if fault.retry_after_s is None else {"Retry-After": str(fault.retry_after_s)}
    body = status_body(fault.status, fault.reason, fault.message)
    return web.Response(status=fault.status, headers=headers, body=body, content_type="application/json")


def _watches(query: str) -> bool:
    return any(part in ("watch=1", "watch=true", "watch=True") for part in query.split("&"))


def _of_lines(fault: Fault) -> bool:
    return isinstance(fault, get_args(LineFault))


def _of_requests(fault: Fault) -> bool:
    return not _of_lines(fault)
