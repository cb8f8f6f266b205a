"""The set of clients follows the listing, and no member reaches another."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from random import Random

import pytest

from federation.kubeconfig.access import MemberSpec
from federation.members.api import UnreachableError
from federation.members.client import ClientOptions, MemberClient
from federation.members.fleet import Change, Members
from federation.snapshot import MemberState
from tests.federation.fakeapi import NODES, TokenAccess, fake_api, hang, refuse
from tests.federation.members.made import member, open_access

NOWHERE = "http://127.0.0.1:9"


def members_of(deadline_s: float = 0.3) -> Members:
    return Members(ClientOptions(deadline_s=deadline_s), open_access, rng=Random(1))


async def test_members_appear_go_and_change() -> None:
    members = members_of()
    east, west = member("east", NOWHERE), member("west", NOWHERE)
    assert await members.follow([west, east]) == Change(appeared=("east", "west"))
    assert list(members.clients) == ["east", "west"]
    first = members.clients["east"]
    assert await members.follow([member("east", NOWHERE), west]) == Change()
    assert members.clients["east"] is first
    assert await members.follow([member("east", "http://127.0.0.1:10"), member("north", NOWHERE)]) == Change(
        appeared=("east", "north"), gone=("west",)
    )
    assert members.clients["east"] is not first
    await members.close()
    assert members.clients == {}


async def test_a_new_token_in_the_file_is_a_new_client() -> None:
    members = members_of()
    await members.follow([member("east", NOWHERE, token="old")])
    old = members.clients["east"]
    assert await members.follow([member("east", NOWHERE, token="new")]) == Change(appeared=("east",))
    with pytest.raises(UnreachableError, match="its client is closed"):
        await old.call("GET", NODES)
    await members.close()


async def test_one_poll_learns_how_each_answers_and_is_over_at_the_deadline() -> None:
    async with fake_api() as well, fake_api() as silent, fake_api() as closed:
        silent.always("/version", hang())
        closed.always("/version", refuse(401, "Unauthorized"))
        members = members_of()
        await members.follow(
            [member("a", well.url), member("b", silent.url), member("c", closed.url), member("d", NOWHERE)]
        )
        began = time.monotonic()
        await members.poll()
        assert time.monotonic() - began < 2.0
        states = {name: client.health.state for name, client in members.clients.items()}
        await members.close()
    assert states == {
        "a": MemberState.READY,
        "b": MemberState.DARK,
        "c": MemberState.REFUSED,
        "d": MemberState.DARK,
    }


async def test_each_member_has_its_own_session_and_token() -> None:
    async with fake_api() as east, fake_api() as west:
        members = members_of()
        await members.follow([member("east", east.url, token="e"), member("west", west.url, token="w")])
        await members.poll()
        await members.close()
    assert [seen.headers["Authorization"] for seen in east.requests] == ["Bearer e"]
    assert [seen.headers["Authorization"] for seen in west.requests] == ["Bearer w"]


async def test_an_accident_in_one_members_way_in_is_logged_and_the_others_are_polled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Stumbling(TokenAccess):
        async def headers(self) -> dict[str, str]:
            raise RuntimeError("a bug")

    async with fake_api() as api:
        members = Members(
            ClientOptions(),
            lambda one: Stumbling(one.spec) if one.spec.id == "bad" else open_access(one),
            rng=Random(1),
        )
        await members.follow([member("bad", api.url), member("good", api.url)])
        await members.poll()
        states = {name: client.health.state for name, client in members.clients.items()}
        await members.close()
    assert states == {"bad": MemberState.DARK, "good": MemberState.READY}
    assert "bad: probe" in caplog.text


async def test_a_name_server_that_does_not_answer_holds_up_its_own_member_only(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    real = socket.getaddrinfo

    def slow(host: str, *rest: object) -> object:
        if host.endswith(".invalid"):
            answers.wait(10)
            raise socket.gaierror(-2, "Name or service not known")
        return real(host, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    async with fake_api() as api:
        port = api.url.rsplit(":", 1)[1]
        members = members_of()
        dark = [member(f"dark{n}", f"http://dark{n}.invalid:1") for n in range(30)]
        await members.follow([*dark, member("named", f"http://localhost:{port}")])
        await members.poll()
        states = {name: client.health.state for name, client in members.clients.items()}
        answers.set()
        await members.close()
    assert states.pop("named") is MemberState.READY
    assert set(states.values()) == {MemberState.DARK}


async def test_a_hundred_polls_leave_neither_tasks_nor_connections_behind() -> None:
    async with fake_api() as api:
        members = members_of(0.05)
        await members.follow([member("east", api.url), member("dark", NOWHERE)])
        await members.poll()
        tasks = len(asyncio.all_tasks())
        for _ in range(100):
            await members.poll()
        assert len(asyncio.all_tasks()) <= tasks
        assert len(api.connections) == 1
        await members.close()


async def test_closing_while_a_call_is_under_way_ends_the_call() -> None:
    async with fake_api() as api:
        api.always(NODES, hang())
        spec = MemberSpec(id="east", context="east", source="test", server=api.url)
        client = MemberClient(TokenAccess(spec), ClientOptions(deadline_s=30), rng=Random(1))
        call = asyncio.create_task(client.call("GET", NODES))
        await asyncio.sleep(0.05)
        await client.close()
        with pytest.raises(UnreachableError):
            await call
