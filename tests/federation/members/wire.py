"""Proxies of either kind and TLS, small and real, on loopback."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import trustme

from federation.kubeconfig.access import MemberSpec

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Proxy:
    """Where it listens, the destinations it was asked for, and connections that clients ended.

    `frozen`: what comes is swallowed and nothing is closed, as behind a firewall that forgot a connection.
    """

    url: str = ""
    asked: list[str] = field(default_factory=list)
    frozen: bool = False
    left: int = 0


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: Proxy) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            if not proxy.frozen:
                writer.write(data)
                await writer.drain()
    await _close(writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _join(client: Stream, server: Stream, proxy: Proxy) -> None:
    async def up() -> None:
        await _pump(client[0], server[1], proxy)
        proxy.left += 1

    await asyncio.gather(up(), _pump(server[0], client[1], proxy))


@asynccontextmanager
async def _listening(serve: Callable[[Stream], Awaitable[None]], scheme: str, proxy: Proxy) -> AsyncIterator[Proxy]:
    running: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            running.add(task)
        with suppress(OSError, asyncio.IncompleteReadError):
            await serve((reader, writer))
        await _close(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await asyncio.wait(running, timeout=2) if running else None


@asynccontextmanager
async def http_proxy() -> AsyncIterator[Proxy]:
    """Forwards plain requests and tunnels (CONNECT); every name is this machine."""
    proxy = Proxy()

    async def serve(client: Stream) -> None:
        head = await client[0].readuntil(b"\r\n\r\n")
        method, target, rest = head.split(b" ", 2)
        url = urlsplit(f"//{target.decode()}" if method == b"CONNECT" else target.decode())
        proxy.asked.append(f"{method.decode()} {url.hostname}:{url.port}")
        server = await asyncio.open_connection("127.0.0.1", url.port)
        if method == b"CONNECT":
            client[1].write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            server[1].write(b" ".join((method, url.path.encode(), rest)))
        await _join(client, server, proxy)

    async with _listening(serve, "http", proxy):
        yield proxy


@asynccontextmanager
async def socks_proxy(*, refuses: bool = False) -> AsyncIterator[Proxy]:
    """SOCKS5 without a password, as in RFC 1928; every name is this machine."""
    proxy = Proxy()

    async def serve(client: Stream) -> None:
        reader, writer = client
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        kind = (await reader.readexactly(4))[3]
        size = 4 if kind == 1 else (await reader.readexactly(1))[0]
        host = await reader.readexactly(size)
        port = int.from_bytes(await reader.readexactly(2), "big")
        proxy.asked.append(f"{host.decode() if kind == 3 else '.'.join(map(str, host))}:{port}")
        writer.write(b"\x05" + (b"\x02" if refuses else b"\x00") + b"\x00\x01\x7f\x00\x00\x01\x00\x00")
        if not refuses:
            await _join(client, await asyncio.open_connection("127.0.0.1", port), proxy)

    async with _listening(serve, "socks5", proxy):
        yield proxy


@dataclass
class TlsAccess:
    """A way in that trusts one authority."""

    spec: MemberSpec
    context: ssl.SSLContext

    async def headers(self) -> Mapping[str, str]:
        return {}

    async def tls(self) -> ssl.SSLContext:
        return self.context

    async def renew(self) -> bool:
        return False


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """A client's context."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def serving(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    """A server's context with a certificate for `names`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context
