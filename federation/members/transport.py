"""One member's connections: session, proxy, name resolution, all its own, so that none can hold up another.

Names are resolved in a thread of the member's, since the loop's shared threads would all be held by one name server
that does not answer. Cookies, redirects and the environment's proxies are not followed: an API server needs none, and
each can carry a token to somebody else.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

import prewarm
from federation.kubeconfig.access import MemberSpec
from federation.members.api import MemberError

CONNECTIONS = 64
USER_AGENT = f"prewarm/{prewarm.__version__}"
_SOCKS = {"socks5", "socks5h"}


class OwnResolver(AbstractResolver):
    """The system's resolver, in one thread of this member's."""

    def __init__(self, member: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"resolve-{member}")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Addresses of `host`; OSError where there are none."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._pool, lambda: socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
        )
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=int(address[1]),
                family=found_family,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for found_family, _, proto, _, address in found
        ]

    async def close(self) -> None:
        """Lets go of the thread; one that still waits for a name server ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Transport:
    """An open session and what every request of it carries."""

    session: aiohttp.ClientSession
    resolver: OwnResolver
    options: dict[str, Any]

    async def close(self) -> None:
        """Closes the session and every connection of it."""
        await self.session.close()
        await self.resolver.close()


def open_transport(spec: MemberSpec) -> Transport:
    """A session of its own for `spec`, inside a running loop. MemberError for a proxy that cannot be used."""
    resolver = OwnResolver(spec.id)
    scheme = urlsplit(spec.proxy_url or "").scheme
    if spec.proxy_url and scheme not in _SOCKS | {"http", "https"}:
        raise MemberError(spec.id, f"proxy-url must be http, https or socks5, is {scheme or 'without a scheme'}")
    options: dict[str, Any] = {"allow_redirects": False}
    if spec.proxy_url and scheme not in _SOCKS:
        options["proxy"] = spec.proxy_url
    if spec.tls_server_name:
        options["server_hostname"] = spec.tls_server_name
    session = aiohttp.ClientSession(
        connector=_socks(spec) if scheme in _SOCKS else aiohttp.TCPConnector(limit=CONNECTIONS, resolver=resolver),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity" if spec.disable_compression else "gzip"},
        trust_env=False,
        raise_for_status=False,
    )
    return Transport(session, resolver, options)


def _socks(spec: MemberSpec) -> aiohttp.BaseConnector:
    """Names are resolved by the proxy, as client-go does."""
    from federation.members.socks import SocksConnector

    url = (spec.proxy_url or "").replace("socks5h://", "socks5://", 1)
    return SocksConnector.from_url(url, rdns=True, limit=CONNECTIONS)
