"""Fake API servers in a thread of their own, for commands that run in this process or in another one.

What is listed and watched is kept by the fake of the informer's tests, what is written by that of the writer's tests;
a Deployment that was written is shown to both, and its instances are ready at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from aiohttp import web

from federation.members.api import APPLY, RefusedError
from tests.federation.apply.fake import FakeApi as Kept
from tests.federation.fakeapi import DEPLOYMENTS, NAMESPACES, NODES, FakeApi, fake_api, status
from tests.federation.informer.made import node
from tests.federation.kubeconfig.made import config, write

ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Member:
    """One API server with a node and the namespace shop. `denied`: (verb, resource) that may not be done."""

    def __init__(self, name: str, api: FakeApi, cores: int) -> None:
        self.name = name
        self.api = api
        self.kept = Kept(name)
        self.denied: set[tuple[str, str]] = set()
        api.put(NODES, node(f"{name}-1", cpu=str(cores), memory="64Gi", labels={"topology.kubernetes.io/region": name}))
        api.put(NAMESPACES, {"metadata": {"name": "shop"}})
        api.always(ACCESS, self._review)

    @property
    def placed(self) -> dict[str, int]:
        """Instances of each Deployment that was written."""
        lives = (self.kept.live(path) for path in self.kept.objects if "/deployments/" in path)
        return {live["metadata"]["name"]: int(live["spec"]["replicas"]) for live in lives}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Reads and writes of one object, or of a namespace's objects; the rest as the informer's fake has it."""
        path = request.path
        if path in self.api.objects or path in (ACCESS, "/version") or "/namespaces/" not in path:
            return await self.api.answer(request)
        body = await request.json() if request.can_read_body else None
        kind = APPLY if request.method == "PATCH" else "application/json"
        try:
            found = await self.kept.call(request.method, path, query=dict(request.query), body=body, content_type=kind)
        except RefusedError as error:
            causes = {"causes": list(error.causes)}
            told = status(error.status, error.reason, str(error), **causes)
            return web.json_response(told, status=error.status)
        if request.query.get("dryRun") is None and not (body or {}).get("dryRun"):
            self._show(path)
        return web.json_response(self.kept.live(path) if path in self.kept.objects else found)

    def _show(self, path: str) -> None:
        """Have a written Deployment run, and the informer see it."""
        if "/deployments/" not in path:
            return
        _, namespace, _, name = path.rsplit("/", maxsplit=3)
        key = f"{namespace}/{name}"
        if path not in self.kept.objects:
            if key in self.api.objects[DEPLOYMENTS]:
                self.api.remove(DEPLOYMENTS, key)
            return
        count = self.kept.live(path)["spec"]["replicas"]
        ready: dict[tuple[str, ...], Any] = {
            ("f:status", f"f:{name}"): count for name in ("readyReplicas", "updatedReplicas")
        }
        self.kept.touch(path, ready, "kube-controller-manager", "status")
        self.api.put(DEPLOYMENTS, self.kept.live(path))

    async def _review(self, request: web.Request) -> web.StreamResponse:
        asked = (await request.json())["spec"]["resourceAttributes"]
        allowed = (asked["verb"], asked["resource"]) not in self.denied
        return web.json_response({"status": {"allowed": allowed}})


class Fleet:
    """Members by name, and a kubeconfig that names them."""

    def __init__(self, members: dict[str, Member], folder: Path) -> None:
        self.members = members
        clusters = {name: {"server": one.api.url} for name, one in members.items()}
        contexts = {name: {"cluster": name, "user": "u"} for name in members}
        self.kubeconfig = write(folder / "fleet.yaml", config(clusters, {"u": {"token": "made-up"}}, contexts))

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    @property
    def placed(self) -> dict[str, dict[str, int]]:
        """What was written, by member."""
        return {name: one.placed for name, one in self.members.items() if one.placed}


@contextlib.contextmanager
def fake_fleet(folder: Path, **cores: int) -> Iterator[Fleet]:
    """Members with so many cores each."""
    ready, loops, made = threading.Event(), list[asyncio.AbstractEventLoop](), dict[str, Member]()
    stop = asyncio.Event()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with AsyncExitStack() as stack:
            for name, count in cores.items():
                api = await stack.enter_async_context(fake_api())
                member = made[name] = Member(name, api, count)
                api.url = await stack.enter_async_context(_front(member))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield Fleet(made, folder)
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(20)


@contextlib.asynccontextmanager
async def _front(member: Member) -> Any:
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", member.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.05, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
