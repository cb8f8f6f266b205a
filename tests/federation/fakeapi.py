"""An API server in the test's own process: lists in pages, watches with bookmarks, and whatever goes wrong on the way.

It keeps objects by collection path (/api/v1/nodes, ...) with one resourceVersion for all, as etcd does. What a test
programs wins over what is kept: `program(path, answer, ...)` gives answers to the next requests of that path in turn.
Every request is remembered in `requests`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from federation.kubeconfig.access import MemberSpec

Json = dict[str, Any]
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

NODES, PODS, QUOTAS = "/api/v1/nodes", "/api/v1/pods", "/api/v1/resourcequotas"
NAMESPACES, CONFIGMAPS = "/api/v1/namespaces", "/api/v1/configmaps"
DEPLOYMENTS = "/apis/apps/v1/deployments"
SERVICES = "/apis/serving.knative.dev/v1/services"
NODE_METRICS = "/apis/metrics.k8s.io/v1beta1/nodes"
POD_METRICS = "/apis/metrics.k8s.io/v1beta1/pods"
_BUILT_IN = (NODES, PODS, QUOTAS, NAMESPACES, CONFIGMAPS, DEPLOYMENTS)


async def until(condition: Callable[[], object], within_s: float = 10.0) -> None:
    """Waits until `condition()` holds, which other tasks bring about; TimeoutError after `within_s`."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  any condition, so there is no one event to wait for
            await asyncio.sleep(0.005)


def status(code: int, reason: str, message: str = "", **details: object) -> Json:
    """A Status object of a failure."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def refuse(code: int, reason: str = "", message: str = "", headers: Mapping[str, str] | None = None) -> Answer:
    """An answer that is this failure."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(status(code, reason, message), status=code, headers=headers)

    return answer


def body(content: bytes | Json, code: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer with exactly this body."""

    async def answer(_: web.Request) -> web.StreamResponse:
        raw = content if isinstance(content, bytes) else orjson.dumps(content)
        return web.Response(body=raw, status=code, headers=headers, content_type="application/json")

    return answer


def hang() -> Answer:
    """Accepts the request and never answers."""

    async def answer(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    return answer


def stream(*chunks: bytes, then: str = "end") -> Answer:
    """A watch of exactly these chunks, which then ends, is `cut` in the middle, or stays open `silent`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if then == "silent":
            await asyncio.Event().wait()
        if then == "cut" and request.transport is not None:
            request.transport.abort()
        return response

    return answer


def line(kind: str, item: Json) -> bytes:
    """One event of a watch."""
    return orjson.dumps({"type": kind, "object": item}) + b"\n"


@dataclass
class TokenAccess:
    """The plainest way in: a bearer token; `fresh` are the tokens that renewals give."""

    spec: MemberSpec
    token: str = "first"
    fresh: list[str] = field(default_factory=list)
    renewals: int = 0

    async def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def tls(self) -> None:
        return None

    async def renew(self) -> bool:
        self.renewals += 1
        if not self.fresh:
            return False
        self.token = self.fresh.pop(0)
        return True


@dataclass
class Seen:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]

    @property
    def watches(self) -> bool:
        return self.query.get("watch") in ("1", "true")


class FakeApi:
    """One fake API server; use `async with fake_api() as api`."""

    def __init__(self) -> None:
        self.version = 100
        self.requests: list[Seen] = []
        self.connections: set[int] = set()
        self.url = ""
        self.delay_s = 0.0
        self.headers: dict[str, str] = {}
        self.objects: dict[str, dict[str, Json]] = {path: {} for path in _BUILT_IN}
        self._log: dict[str, deque[tuple[int, str, Json]]] = defaultdict(deque)
        self._oldest = 0
        self._programmed: dict[str, deque[Answer]] = defaultdict(deque)
        self._always: dict[str, Answer] = {}
        self._watchers: dict[str, set[asyncio.Queue[bytes | None]]] = defaultdict(set)

    def access(self, name: str = "east", **fields: Any) -> TokenAccess:
        """A way in to this server."""
        return TokenAccess(MemberSpec(id=name, context=name, source="test", server=self.url, **fields))

    def program(self, path: str, *answers: Answer) -> None:
        """The next requests of `path` get these, in turn."""
        self._programmed[path].extend(answers)

    def always(self, path: str, answer: Answer | None) -> None:
        """Every request of `path` gets this once nothing is programmed; None ends it."""
        if answer is None:
            self._always.pop(path, None)
        else:
            self._always[path] = answer

    def put(self, path: str, item: Json) -> Json:
        """Creates or replaces an object, with a new resourceVersion, and tells the watchers."""
        key, kept = _key(item), self.objects.setdefault(path, {})
        self.version += 1
        stored: Json = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        stored["metadata"].setdefault("uid", f"uid-{key}-{self.version}" if key not in kept else _uid(kept[key]))
        kind = "MODIFIED" if key in kept else "ADDED"
        kept[key] = stored
        self._tell(path, kind, stored)
        return stored

    def remove(self, path: str, key: str) -> None:
        """Deletes an object and tells the watchers its last state."""
        item = self.objects[path].pop(key)
        self.version += 1
        last = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        self._tell(path, "DELETED", last)

    def bookmark(self, path: str) -> None:
        """A bookmark to every watcher of `path`."""
        self._send(path, line("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}}))

    def raw(self, path: str, chunk: bytes) -> None:
        """These very bytes to every watcher of `path`."""
        self._send(path, chunk)

    def end_watches(self, path: str) -> None:
        """Ends every watch of `path`, as a server does after its time."""
        for queue in self._watchers[path]:
            queue.put_nowait(None)

    def compact(self) -> None:
        """Forgets events up to now: a watch from an older version is answered with 410."""
        self._oldest = self.version
        self._log.clear()

    def asked(self, path: str, *, watches: bool = False) -> list[Seen]:
        """The lists (or watches) of `path` so far."""
        return [seen for seen in self.requests if seen.path == path and seen.watches is watches]

    async def watched(self, path: str, count: int = 1) -> None:
        """Waits until `count` watches of `path` are open."""
        await until(lambda: len(self._watchers[path]) >= count)

    def watchers(self, path: str) -> int:
        """Open watches of `path`."""
        return len(self._watchers[path])

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Whatever is asked."""
        path = request.path
        self.requests.append(Seen(request.method, path, dict(request.query), request.headers.copy()))
        self.connections.add(id(request.transport))
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if self._programmed[path]:
            return await self._programmed[path].popleft()(request)
        if path in self._always:
            return await self._always[path](request)
        if path == "/version":
            return web.json_response({"gitVersion": "v1.36.2"}, headers=self.headers)
        if path not in self.objects:
            absent = status(404, "NotFound", "the server could not find it")
            return web.json_response(absent, status=404, headers=self.headers)
        return await (self._watch(request) if request.query.get("watch") in ("1", "true") else self._list(request))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        items = [self.objects[request.path][key] for key in sorted(self.objects[request.path])]
        limit, start = int(request.query.get("limit", "0")), int(request.query.get("continue", "0"))
        page = items[start : start + limit] if limit else items[start:]
        meta: Json = {"resourceVersion": str(self.version)}
        if start + len(page) < len(items):
            meta["continue"] = str(start + len(page))
        answer = {"kind": "List", "apiVersion": "v1", "metadata": meta, "items": page}
        return web.Response(body=orjson.dumps(answer), content_type="application/json", headers=self.headers)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json", **self.headers})
        await response.prepare(request)
        since = int(request.query["resourceVersion"])
        if since < self._oldest:
            await response.write(line("ERROR", status(410, "Expired", f"too old resource version: {since}")))
            return response
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        for version, kind, item in self._log[request.path]:
            if version > since:
                queue.put_nowait(line(kind, item))
        self._watchers[request.path].add(queue)
        try:
            while (chunk := await queue.get()) is not None:
                await response.write(chunk)
        finally:
            self._watchers[request.path].discard(queue)
        return response

    def _tell(self, path: str, kind: str, item: Json) -> None:
        self._log[path].append((self.version, kind, item))
        self._send(path, line(kind, item))

    def _send(self, path: str, chunk: bytes) -> None:
        for queue in self._watchers[path]:
            queue.put_nowait(chunk)


@asynccontextmanager
async def fake_api(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeApi]:
    """A fake API server on a port of loopback that the system chooses."""
    api = FakeApi()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", api.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.05, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    host, port = runner.addresses[0][:2]
    api.url = f"{'https' if tls else 'http'}://{host}:{port}"
    try:
        yield api
    finally:
        await runner.cleanup()


def _key(item: Json) -> str:
    meta = item["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def _uid(item: Json) -> str:
    return str(item["metadata"].get("uid", ""))
