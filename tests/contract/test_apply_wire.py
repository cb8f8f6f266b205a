"""The exact messages of every kind of write, as an API server receives them from the real client.

The golden file holds method, address with its query, headers that matter, and body. A change of any of them is a change
of what members see, so it must be made there by hand.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from federation.apply.around.dependencies import copied
from federation.apply.around.traffic import Route, route_object
from federation.apply.rights import READ, Reviewer, User
from federation.apply.scale import scale
from federation.apply.state.objects import ref_of
from federation.apply.writer import RehearsalWriter, ServerWriter
from federation.manifest.share import marked, object_for
from federation.members.api import RefusedError
from federation.members.client import ClientOptions, MemberClient
from federation.placement.answer import Share
from tests.federation.apply.fake import FakeApi
from tests.federation.manifest.made import deployment, job, service
from tests.federation.members.made import member, open_access

GOLDEN: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parent / "apply.json").read_text())
HEADERS = ("Accept", "Authorization", "Content-Type")
Json = dict[str, Any]


@asynccontextmanager
async def recorded() -> AsyncIterator[tuple[MemberClient, list[Json], FakeApi]]:
    """The real client, the messages that arrive, and the server in memory that answers them."""
    seen: list[Json] = []
    memory = FakeApi("eu-1")

    async def answer(request: web.Request) -> web.Response:
        raw = await request.read()
        headers = {name: request.headers[name] for name in HEADERS if name in request.headers}
        body = json.loads(raw) if raw else None
        seen.append({"request": f"{request.method} {request.raw_path}", "headers": headers, "body": body})
        if request.method == "POST":
            return web.json_response({"status": {"authenticated": False, "allowed": False}})
        try:
            told = await memory.call(
                request.method, request.path, query=request.query, body=body, content_type=request.content_type
            )
        except RefusedError as error:
            status = {"reason": error.reason, "message": error.message, "details": {"causes": list(error.causes)}}
            return web.json_response({"kind": "Status", **status}, status=error.status)
        return web.json_response(told)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app, host="127.0.0.1") as server:
        one = member("eu-1", str(server.make_url("")).rstrip("/"))
        client = MemberClient(open_access(one), ClientOptions(), rng=Random(1))
        try:
            yield client, seen, memory
        finally:
            await client.close()


async def _apply_deployment(client: MemberClient) -> None:
    body = object_for(deployment(replicas=6), {"eu-1": 4, "eu-2": 2}, "eu-1")
    assert body is not None
    await ServerWriter(client).apply(body)


async def _apply_service(client: MemberClient) -> None:
    body = object_for(service({"min-scale": "6", "max-scale": "10"}), {"eu-1": 4, "eu-2": 2}, "eu-1")
    assert body is not None
    await ServerWriter(client).apply(body)


async def _apply_job(client: MemberClient) -> None:
    body = object_for(job({"parallelism": 6, "completions": 40}), {"eu-1": 4, "eu-2": 2}, "eu-1")
    assert body is not None
    await ServerWriter(client).apply(body)


async def _apply_by_force(client: MemberClient) -> None:
    await ServerWriter(client).apply(marked(deployment()), force=True)


async def _rehearse(client: MemberClient) -> None:
    await RehearsalWriter(client).apply(marked(deployment()))


async def _copy_secret(client: MemberClient) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token", "namespace": "shop"},
        "type": "Opaque",
    }
    await ServerWriter(client).apply(copied({**secret, "data": {"t": "c2VjcmV0"}}, "eu-2"))


async def _remove(client: MemberClient) -> None:
    await ServerWriter(client).apply(marked(deployment()))
    await ServerWriter(client).remove(ref_of(deployment()))


async def _rehearse_removal(client: MemberClient) -> None:
    await ServerWriter(client).apply(marked(deployment()))
    await RehearsalWriter(client).remove(ref_of(deployment()))


async def _scale_what_we_placed(client: MemberClient) -> None:
    await ServerWriter(client).apply(marked(deployment()))
    await scale(client, "shop/checkout", 5)


async def _raise_a_floor(client: MemberClient) -> None:
    await ServerWriter(client).apply(marked(service({"min-scale": "1"})))
    await scale(client, "shop/checkout", 3)


async def _route(client: MemberClient) -> None:
    shares = (Share("eu-1", 4, 0, 0.667), Share("eu-2", 2, 0, 0.333))
    await ServerWriter(client).apply(
        route_object("shop/checkout", shares, Route("eu-1", "infra/public", ("shop.example",)))
    )


async def _review(client: MemberClient) -> None:
    reviewer = Reviewer(client, lambda: 0.0, audiences=("prewarm",))
    await reviewer.user_of("a-token")
    await reviewer.allows(User("ann", "u1", ("team-shop",)), READ, "shop")


WRITES: dict[str, Callable[[MemberClient], Awaitable[None]]] = {
    "apply a part of a Deployment": _apply_deployment,
    "apply a part of a Knative Service": _apply_service,
    "apply a part of a Job": _apply_job,
    "apply by force": _apply_by_force,
    "rehearse an apply": _rehearse,
    "copy a Secret": _copy_secret,
    "remove": _remove,
    "rehearse a removal": _rehearse_removal,
    "scale what we placed": _scale_what_we_placed,
    "raise a floor": _raise_a_floor,
    "route traffic": _route,
    "review a token and a right": _review,
}


@pytest.mark.parametrize("name", WRITES)
async def test_the_messages_are_those_of_the_golden_file(name: str) -> None:
    async with recorded() as (client, seen, _):
        await WRITES[name](client)
    assert seen == GOLDEN[name]


def test_the_golden_file_has_no_message_that_nobody_sends() -> None:
    assert set(GOLDEN) == set(WRITES)


@pytest.mark.parametrize("name", WRITES)
def test_every_patch_is_an_apply_under_our_name_and_strict(name: str) -> None:
    for message in GOLDEN[name]:
        method, _, address = message["request"].partition(" ")
        if method == "PATCH":
            assert message["headers"]["Content-Type"] == "application/apply-patch+yaml"
            assert "fieldManager=prewarm" in address
            assert "fieldValidation=Strict" in address
            assert {"apiVersion", "kind", "metadata"} <= set(message["body"])
            assert "managedFields" not in message["body"]["metadata"]
        assert method in ("GET", "PATCH", "DELETE", "POST")
