"""The client of one member: every call has a deadline, every failure one error, and nothing is shared with another.

A 401 gets other credentials and one more try; a 429 is obeyed while the deadline allows; an answer is bounded in size.
Calls that do not come back open the breaker, so that a member in the dark costs a line of code and not a deadline.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from random import Random

import aiohttp
import orjson
from multidict import CIMultiDict

from federation.kubeconfig.access import Access
from federation.members import breaker
from federation.members.answers import (
    REACHED_TO_REFUSE,
    BodyError,
    clock_skew_s,
    date_of,
    describe,
    hang_up,
    kind_of,
    parse_object,
    read_body,
    refusal,
    retry_after_s,
)
from federation.members.api import JSON, Json, MemberError, UnreachableError
from federation.members.health import Health, Journal, Kind, Outcome
from federation.members.lines import Lines, LongLineError
from federation.members.transport import Transport, open_transport

_REDIRECT = 300


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How patient a client is."""

    deadline_s: float = 3.0
    """For a call that names none, and for the first answer of a watch."""
    silence_s: float = 150.0
    """A watch without a byte for this long is taken for half open; the first bookmark of a quiet one takes 120 s."""
    slow_s: float = 1.0
    """A member whose answers usually take longer is called slow."""
    body_limit: int = 64 << 20
    """Most bytes of one answer, unpacked."""
    line_limit: int = 16 << 20
    """Most bytes of one line of a watch."""


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    query: Mapping[str, str]
    accept: str
    body: bytes | None = None
    content_type: str | None = None
    silence_s: float | None = None


class MemberClient:
    """One member's `Api`. Made without a running loop; opens its session with the first call."""

    def __init__(
        self,
        access: Access,
        options: ClientOptions,
        *,
        rng: Random,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = access.spec.id
        self.access = access
        self.options = options
        self._rng = rng
        self._clock = clock
        self.back = asyncio.Event()
        """Set while calls are let through: whoever waits before trying again need not wait longer than for this."""
        self._breaker = breaker.Breaker()
        self._journal = Journal(clock(), options.slow_s)
        self._network_errors = _network_errors(access.spec.proxy_url)
        self._transport: Transport | None = None
        self._closed = False
        self.back.set()

    @property
    def health(self) -> Health:
        """How the member answers, as of the last call."""
        return self._journal.health

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object | None = None,
        content_type: str = JSON,
        deadline_s: float | None = None,
    ) -> Json:
        """The parsed answer. RefusedError, UnreachableError."""
        content = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        request = _Request(method, path, query or {}, JSON, content, content_type if content else None)
        return await self._exchange(request, deadline_s or self.options.deadline_s)

    async def read(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        accept: str = JSON,
        deadline_s: float | None = None,
    ) -> Json:
        """A GET that may ask for another form of the answer. RefusedError, UnreachableError."""
        return await self._exchange(_Request("GET", path, query or {}, accept), deadline_s or self.options.deadline_s)

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], accept: str = JSON
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Lines of a watch as they come; ends when the server ends it. RefusedError, UnreachableError."""
        request = _Request("GET", path, query, accept, silence_s=self.options.silence_s)
        with self._watched(self.options.deadline_s):
            async with asyncio.timeout(self.options.deadline_s):
                response = await self._send(request, self._deadline(self.options.deadline_s))
        try:
            if response.status >= _REDIRECT:
                raise refusal(self.name, response.status, await self._failure(response))
            lines = self._lines(response)
            try:
                yield lines
            finally:
                await lines.aclose()
        finally:
            hang_up(response)

    async def close(self) -> None:
        """Ends every connection; calls from now on are UnreachableError."""
        self._closed = True
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    async def _exchange(self, request: _Request, deadline_s: float) -> Json:
        with self._watched(deadline_s):
            async with asyncio.timeout(deadline_s):
                response = await self._send(request, self._deadline(deadline_s))
                try:
                    status, body = response.status, await read_body(response, self.options.body_limit)
                finally:
                    hang_up(response)
            answer = parse_object(body) if status < _REDIRECT else {}
        if status >= _REDIRECT:
            raise refusal(self.name, status, body)
        return answer

    async def _send(self, request: _Request, deadline: float) -> aiohttp.ClientResponse:
        """The response that counts: after one renewal of credentials, and after the waits that the member asked for."""
        loop = asyncio.get_running_loop()
        may_renew = True
        while True:
            started = loop.time()
            response = await self._once(request)
            pause_s = retry_after_s(response)
            if response.status == 401 and may_renew:
                may_renew = False
                if await self._renewed(response):
                    continue
            elif pause_s is not None and loop.time() + pause_s < deadline:
                hang_up(response)
                await asyncio.sleep(pause_s)
                continue
            self._note(response, loop.time() - started)
            return response

    async def _renewed(self, response: aiohttp.ClientResponse) -> bool:
        """Whether there are other credentials now; the refusing answer is kept only where there are none."""
        keep = False
        try:
            renewed = await self.access.renew()
            keep = not renewed
        finally:
            if not keep:
                hang_up(response)
        return renewed

    async def _once(self, request: _Request) -> aiohttp.ClientResponse:
        headers = CIMultiDict(await self.access.headers())  # several groups are several headers of one name
        headers["Accept"] = request.accept
        if request.content_type:
            headers["Content-Type"] = request.content_type
        context = await self.access.tls()
        if self._closed:
            raise UnreachableError(self.name, "its client is closed")
        if self._transport is None:
            self._transport = open_transport(self.access.spec)
        return await self._transport.session.request(
            request.method,
            self.access.spec.server.rstrip("/") + request.path,
            params=request.query,
            data=request.body,
            headers=headers,
            ssl=True if context is None else context,
            timeout=aiohttp.ClientTimeout(total=None, sock_read=request.silence_s),
            **self._transport.options,
        )

    async def _failure(self, response: aiohttp.ClientResponse) -> bytes:
        with self._watched(self.options.deadline_s):
            async with asyncio.timeout(self.options.deadline_s):
                return await read_body(response, self.options.body_limit)

    async def _lines(self, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
        lines = Lines(self.options.line_limit)
        try:
            async for chunk in response.content.iter_any():
                self._journal.heard(self._clock())
                for line in lines.feed(chunk):
                    yield line
        except TimeoutError as error:
            # Says nothing of the member: a quiet collection looks the same, and the probes judge who answers.
            raise UnreachableError(self.name, f"watch silent for {self.options.silence_s:g} s") from error
        except (aiohttp.ClientError, OSError, LongLineError) as error:
            raise UnreachableError(self.name, f"watch cut: {describe(error)}") from error
        if rest := lines.end():
            yield rest

    @contextmanager
    def _watched(self, deadline_s: float) -> Iterator[None]:
        """Asks the breaker, translates what goes wrong on the way, and keeps it in mind."""
        self._admit()
        try:
            yield
        except MemberError as error:
            self._journal.note(Outcome(self._clock(), Kind.REFUSED, text=str(error)))
            raise
        except REACHED_TO_REFUSE as error:
            self._breaker = breaker.answered()
            raise self._lost(Kind.REFUSED, describe(error)) from error
        except TimeoutError as error:
            self._count_failure()
            raise self._lost(Kind.SILENT, f"no answer within {deadline_s:g} s") from error
        except BodyError as error:
            raise self._lost(Kind.FAILING, str(error)) from error
        except ValueError as error:
            raise self._lost(Kind.REFUSED, f"a request that cannot be made: {describe(error)}") from error
        except self._network_errors as error:
            self._count_failure()
            raise self._lost(Kind.SILENT, describe(error)) from error
        finally:
            self._breaker = breaker.left(self._breaker)  # whoever gave up must not be taken for a try under way

    def _admit(self) -> None:
        now = asyncio.get_running_loop().time()
        if not breaker.admits(self._breaker, now):
            wait_s = max(0.0, (self._breaker.retry_at or now) - now)
            lost = f"{self._breaker.failures} calls in a row lost ({self.health.why})"
            raise UnreachableError(self.name, f"{lost}; next try in {wait_s:.1f} s")
        self._breaker = breaker.entered(self._breaker)

    def _note(self, response: aiohttp.ClientResponse, latency_s: float) -> None:
        now, kind, date = self._clock(), kind_of(response.status), date_of(response)
        self._breaker = breaker.answered()
        self.back.set()
        text = "" if kind is Kind.OK else f"answers {response.status}"
        skew_s = None if date is None or latency_s > self.options.slow_s else clock_skew_s(date, now - latency_s / 2)
        self._journal.note(Outcome(now, kind, latency_s, text), skew_s)

    def _lost(self, kind: Kind, text: str) -> UnreachableError:
        self._journal.note(Outcome(self._clock(), kind, text=text))
        return UnreachableError(self.name, text)

    def _count_failure(self) -> None:
        now = asyncio.get_running_loop().time()
        self._breaker = breaker.failed(self._breaker, now, self._rng.random())
        if self._breaker.retry_at is not None:
            self.back.clear()

    @staticmethod
    def _deadline(deadline_s: float) -> float:
        return asyncio.get_running_loop().time() + deadline_s


def _network_errors(proxy_url: str | None) -> tuple[type[Exception], ...]:
    """What a connection may raise; the package for SOCKS has one of its own, and is loaded only where it is used."""
    if not (proxy_url or "").startswith("socks5"):
        return (aiohttp.ClientError, OSError)
    from python_socks import ProxyError

    return (aiohttp.ClientError, OSError, ProxyError)
