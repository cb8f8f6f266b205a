"""One member's client against a server that misbehaves in every way that is known."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import suppress
from random import Random

import pytest
from aiohttp import web
from multidict import CIMultiDict

from federation.kubeconfig.access import MemberSpec
from federation.members.api import APPLY, MemberError, RefusedError, UnreachableError
from federation.members.client import ClientOptions, MemberClient
from federation.snapshot import MemberState
from tests.federation.fakeapi import NODES, TokenAccess, body, fake_api, hang, refuse, stream, until

QUICK = ClientOptions(deadline_s=0.3, silence_s=0.2, body_limit=100_000, line_limit=50_000)


def client_of(access: TokenAccess, options: ClientOptions = QUICK) -> MemberClient:
    return MemberClient(access, options, rng=Random(1))


async def test_an_answer_is_parsed_and_the_request_says_who_asks() -> None:
    async with fake_api() as api:
        api.put(NODES, {"metadata": {"name": "n1"}})
        client = client_of(api.access())
        answer = await client.call("GET", NODES, query={"limit": "10"})
        await client.close()
    assert [item["metadata"]["name"] for item in answer["items"]] == ["n1"]
    (seen,) = api.requests
    assert seen.query == {"limit": "10"}
    assert seen.headers["Authorization"] == "Bearer first"
    assert seen.headers["User-Agent"].startswith("prewarm/")
    assert client.health.state is MemberState.READY


async def test_every_group_that_is_impersonated_is_sent() -> None:
    """Headers of one name must not be folded into the last: the request would have fewer rights, or others."""

    class InGroups(TokenAccess):
        async def headers(self) -> CIMultiDict[str]:
            told = CIMultiDict(await super().headers())
            for group in ("shop", "oncall"):
                told.add("Impersonate-Group", group)
            return told

    async with fake_api() as api:
        client = client_of(InGroups(api.access().spec))
        await client.call("GET", NODES)
        await client.close()
    seen = api.requests[0].headers
    assert isinstance(seen, CIMultiDict)
    assert seen.getall("Impersonate-Group") == ["shop", "oncall"]


async def test_a_body_is_sent_with_its_content_type() -> None:
    got: list[tuple[str, bytes]] = []

    async def keep(request: web.Request) -> web.StreamResponse:
        got.append((request.content_type, await request.read()))
        return web.json_response({})

    async with fake_api() as api:
        api.program("/apis/x", keep, keep)
        client = client_of(api.access())
        await client.call("PATCH", "/apis/x", body={"a": 1}, content_type=APPLY)
        await client.call("PATCH", "/apis/x", body=b"raw: yes", content_type=APPLY)
        await client.close()
    assert got == [(APPLY, b'{"a":1}'), (APPLY, b"raw: yes")]


async def test_a_refusal_carries_the_fields_of_status() -> None:
    failure = {
        "kind": "Status",
        "reason": "Conflict",
        "message": "field is owned",
        "details": {"causes": [{"reason": "FieldManagerConflict", "field": ".spec.replicas"}]},
    }
    async with fake_api() as api:
        api.program("/api/v1/x", body(failure, 409))
        client = client_of(api.access())
        with pytest.raises(RefusedError) as caught:
            await client.call("GET", "/api/v1/x")
        await client.close()
    error = caught.value
    assert (error.status, error.reason, error.message) == (409, "Conflict", "field is owned")
    assert error.causes == ({"reason": "FieldManagerConflict", "field": ".spec.replicas"},)
    assert str(error) == "east: 409 Conflict: field is owned"


async def test_a_refusal_that_is_no_status_keeps_its_text() -> None:
    async with fake_api() as api:
        api.program("/api/v1/x", body(b"<html>bad gateway</html>", 502))
        client = client_of(api.access())
        with pytest.raises(RefusedError, match="502 without a reason: <html>bad gateway</html>"):
            await client.call("GET", "/api/v1/x")
        await client.close()


async def test_a_401_gets_one_renewal_and_one_more_try() -> None:
    async with fake_api() as api:
        access = api.access()
        access.fresh = ["second"]
        api.program(NODES, refuse(401, "Unauthorized"))
        client = client_of(access)
        await client.call("GET", NODES)
        assert [seen.headers["Authorization"] for seen in api.requests] == ["Bearer first", "Bearer second"]
        assert client.health.state is MemberState.READY
        await client.close()


@pytest.mark.parametrize("fresh", [[], ["second", "third"]])
async def test_a_401_that_stays_is_a_refused_member_and_not_a_loop(fresh: list[str]) -> None:
    async with fake_api() as api:
        access = api.access()
        access.fresh = fresh
        api.always(NODES, refuse(401, "Unauthorized", "expired"))
        client = client_of(access)
        with pytest.raises(RefusedError, match="401 Unauthorized"):
            await client.call("GET", NODES)
        assert access.renewals == 1
        assert len(api.requests) == (2 if fresh else 1)
        assert client.health.state is MemberState.REFUSED
        assert client.health.why == "answers 401"
        await client.close()


async def test_a_429_is_obeyed_within_the_deadline() -> None:
    async with fake_api() as api:
        api.program(NODES, refuse(429, "TooManyRequests", headers={"Retry-After": "1"}))
        client = client_of(api.access(), ClientOptions(deadline_s=5))
        await client.call("GET", NODES)
        assert len(api.requests) == 2
        await client.close()


async def test_a_429_beyond_the_deadline_is_told_at_once() -> None:
    async with fake_api() as api:
        api.program(NODES, refuse(429, "TooManyRequests", headers={"Retry-After": "60"}))
        client = client_of(api.access())
        with pytest.raises(RefusedError, match="429 TooManyRequests"):
            await client.call("GET", NODES)
        assert len(api.requests) == 1
        await client.close()


async def test_no_answer_ends_at_the_deadline_and_three_of_them_open_the_breaker() -> None:
    async with fake_api() as api:
        api.always(NODES, hang())
        client = client_of(api.access())
        for _ in range(3):
            with pytest.raises(UnreachableError, match=r"no answer within 0\.1 s"):
                await client.call("GET", NODES, deadline_s=0.1)
        with pytest.raises(UnreachableError, match="3 calls in a row lost"):
            await client.call("GET", NODES)
        assert len(api.requests) == 3
        assert client.health.state is MemberState.DARK
        await client.close()


async def test_after_the_pause_one_call_is_let_through_and_closes_the_breaker() -> None:
    async with fake_api() as api:
        api.program(NODES, hang(), hang(), hang())
        client = client_of(api.access())
        for _ in range(3):
            with pytest.raises(UnreachableError):
                await client.call("GET", NODES, deadline_s=0.05)
        assert not client.back.is_set()
        async with asyncio.timeout(3):
            while not client.back.is_set():
                with suppress(UnreachableError):
                    await client.call("GET", NODES)
                await asyncio.sleep(0.02)
        await client.call("GET", NODES)
        assert client.health.state is MemberState.READY
        await client.close()
    assert len(api.requests) == 5


async def test_a_token_with_a_line_end_is_a_refused_member_and_shows_nowhere() -> None:
    async with fake_api() as api:
        access = api.access()
        access.token = "secret\nX-Evil: 1"
        client = client_of(access)
        with pytest.raises(UnreachableError, match="a request that cannot be made") as caught:
            await client.call("GET", NODES)
        assert client.health.state is MemberState.REFUSED
        await client.close()
    assert api.requests == []
    assert "secret" not in f"{caught.value} {client.health.why}"


async def test_a_caller_who_gives_up_says_nothing_about_the_member() -> None:
    async with fake_api() as api:
        api.program(NODES, hang())
        client = client_of(api.access(), ClientOptions(deadline_s=30))
        task = asyncio.create_task(client.call("GET", NODES))
        await until(lambda: api.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.call("GET", NODES)
        assert client.health.state is MemberState.READY
        await client.close()


async def test_nobody_there_is_unreachable() -> None:
    async with fake_api() as api:
        access = api.access()
    client = client_of(access)
    with pytest.raises(UnreachableError, match="no connection to 127"):
        await client.call("GET", NODES)
    await client.close()


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"[]", "JSON list, not an object"), (b"{", "is not JSON"), (b'{"a":"' + b"x" * 200_000 + b'"}', "larger than")],
)
async def test_a_lying_member_is_one_error_and_not_an_accident(content: bytes, says: str) -> None:
    async with fake_api() as api:
        api.program(NODES, body(content))
        client = client_of(api.access())
        with pytest.raises(UnreachableError, match=says):
            await client.call("GET", NODES)
        await client.close()


async def test_compression_is_asked_for_unpacked_and_bounded() -> None:
    def packed(content: bytes) -> web.Response:
        return web.Response(body=gzip.compress(content), headers={"Content-Encoding": "gzip"})

    async def small(_: web.Request) -> web.StreamResponse:
        return packed(b'{"a": 1}')

    async def bomb(_: web.Request) -> web.StreamResponse:
        return packed(b'{"a": "' + b" " * 50_000_000 + b'"}')

    async with fake_api() as api:
        api.program(NODES, small, bomb)
        client = client_of(api.access(), ClientOptions(deadline_s=5, body_limit=100_000))
        assert await client.call("GET", NODES) == {"a": 1}
        assert api.requests[0].headers["Accept-Encoding"] == "gzip"
        with pytest.raises(UnreachableError, match="larger than 100000 bytes"):
            await client.call("GET", NODES)
        await client.close()
        plain = client_of(api.access(disable_compression=True))
        await plain.call("GET", NODES)
        await plain.close()
    assert api.requests[-1].headers["Accept-Encoding"] == "identity"


async def test_a_redirect_is_not_followed_since_it_would_carry_the_token_away() -> None:
    async with fake_api() as api, fake_api() as thief:
        api.program(NODES, refuse(302, headers={"Location": thief.url + NODES}))
        client = client_of(api.access())
        with pytest.raises(RefusedError, match="302"):
            await client.call("GET", NODES)
        await client.close()
    assert thief.requests == []


async def test_cookies_are_not_kept() -> None:
    async with fake_api() as api:
        api.program(NODES, body({}, headers={"Set-Cookie": "route=1"}))
        client = client_of(api.access())
        await client.call("GET", NODES)
        await client.call("GET", NODES)
        await client.close()
    assert "Cookie" not in api.requests[1].headers


async def test_a_clock_that_is_off_is_reported_in_seconds() -> None:
    async with fake_api() as api:
        api.program(NODES, body({}, headers={"Date": "Mon, 05 Jan 2026 12:01:31 GMT"}))
        client = MemberClient(api.access(), QUICK, rng=Random(1), clock=lambda: 1767614400.0)  # 12:00:00
        await client.call("GET", NODES)
        assert client.health.skew_s == pytest.approx(91.5, abs=0.3)
        assert client.health.notes == ("its clock is 92 s ahead",)
        assert client.health.answered_at == 1767614400.0
        await client.close()


async def lines_of(client: MemberClient) -> list[bytes]:
    async with client.stream(NODES, query={"watch": "1"}) as lines:
        return [line async for line in lines]


async def test_a_stream_gives_lines_however_they_are_cut() -> None:
    async with fake_api() as api:
        api.program(NODES, stream(b'{"a":', b'1}\n{"b":2}\r\n\n', b'{"c":3}'))
        client = client_of(api.access())
        assert await lines_of(client) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
        await client.close()


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (stream(b"{}\n", then="silent"), UnreachableError, r"silent for 0\.2 s"),
        (stream(b"{}\n", then="cut"), UnreachableError, "watch cut"),
        (stream(b"x" * 60_000), UnreachableError, "longer than 50000 bytes"),
        (refuse(410, "Expired", "too old"), RefusedError, "410 Expired: too old"),
        (refuse(401, "Unauthorized"), RefusedError, "401"),
        (hang(), UnreachableError, r"no answer within 0\.3 s"),
    ],
)
async def test_a_stream_that_fails_says_how(answer: object, error: type[MemberError], says: str) -> None:
    async with fake_api() as api:
        api.program(NODES, answer)  # type: ignore[arg-type]
        client = client_of(api.access())
        with pytest.raises(error, match=says):
            await lines_of(client)
        await client.close()


async def test_leaving_a_stream_early_closes_its_connection() -> None:
    async with fake_api() as api:
        client = client_of(api.access())
        async with client.stream(NODES, query={"watch": "1", "resourceVersion": "100"}):
            await api.watched(NODES)
        await until(lambda: not api.watchers(NODES))
        assert client.health.state is MemberState.READY, "leaving is no failure of the member"
        await client.close()


async def test_a_closed_client_says_so() -> None:
    async with fake_api() as api:
        client = client_of(api.access())
        await client.close()
        with pytest.raises(UnreachableError, match="its client is closed"):
            await client.call("GET", NODES)
    assert api.requests == []


async def test_a_proxy_that_cannot_be_used_is_an_error_and_not_ignored() -> None:
    spec = MemberSpec(id="east", context="east", source="test", server="http://127.0.0.1:1", proxy_url="ftp://p:1")
    client = client_of(TokenAccess(spec))
    with pytest.raises(MemberError, match="proxy-url must be http, https or socks5, is ftp"):
        await client.call("GET", NODES)
    await client.close()


async def test_the_form_of_an_answer_can_be_asked_for(accept: str = "application/json;as=Table") -> None:
    async with fake_api() as api:
        client = client_of(api.access())
        await client.read(NODES, accept=accept)
        assert api.requests[0].headers["Accept"] == accept
        await client.close()
