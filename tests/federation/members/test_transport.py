"""Proxies are used and never ignored, and a certificate is checked against the name that was said."""

from __future__ import annotations

from random import Random

import pytest
import trustme

from federation.kubeconfig.access import Access, MemberSpec
from federation.members.api import UnreachableError
from federation.members.client import ClientOptions, MemberClient
from federation.snapshot import MemberState
from tests.federation.fakeapi import NODES, TokenAccess, fake_api, until
from tests.federation.members.wire import TlsAccess, http_proxy, serving, socks_proxy, trusting


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def client_of(access: Access) -> MemberClient:
    return MemberClient(access, ClientOptions(deadline_s=3), rng=Random(1))


def spec_of(server: str, proxy_url: str | None = None, tls_server_name: str | None = None) -> MemberSpec:
    return MemberSpec(
        id="east", context="east", source="test", server=server, proxy_url=proxy_url, tls_server_name=tls_server_name
    )


async def test_plain_http_goes_through_an_http_proxy_by_name() -> None:
    async with fake_api() as api, http_proxy() as proxy:
        server = api.url.replace("127.0.0.1", "api.nowhere.invalid")
        client = client_of(TokenAccess(spec_of(server, proxy.url)))
        await client.call("GET", NODES)
        await client.close()
    assert proxy.asked == [f"GET {server.removeprefix('http://')}"]


async def test_https_goes_through_an_http_proxy_by_a_tunnel(authority: trustme.CA) -> None:
    async with fake_api(serving(authority, "api.nowhere.invalid")) as api, http_proxy() as proxy:
        server = api.url.replace("127.0.0.1", "api.nowhere.invalid")
        client = client_of(TlsAccess(spec_of(server, proxy.url), trusting(authority)))
        await client.call("GET", NODES)
        await client.close()
    assert proxy.asked == [f"CONNECT {server.removeprefix('https://')}"]


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
async def test_https_goes_through_socks_which_resolves_the_name(authority: trustme.CA, scheme: str) -> None:
    async with fake_api(serving(authority, "api.nowhere.invalid")) as api, socks_proxy() as proxy:
        server = api.url.replace("127.0.0.1", "api.nowhere.invalid")
        client = client_of(TlsAccess(spec_of(server, proxy.url.replace("socks5", scheme)), trusting(authority)))
        await client.call("GET", NODES)
        await client.close()
    assert proxy.asked == [server.removeprefix("https://")]


async def test_a_proxy_that_refuses_is_an_unreachable_member() -> None:
    async with fake_api() as api, socks_proxy(refuses=True) as proxy:
        client = client_of(TokenAccess(spec_of(api.url, proxy.url)))
        with pytest.raises(UnreachableError, match="ProxyError"):
            await client.call("GET", NODES)
        await client.close()
    assert api.requests == []


async def test_the_proxy_is_not_gone_around_when_it_is_down() -> None:
    async with http_proxy() as proxy:
        pass
    async with fake_api() as api:
        client = client_of(TokenAccess(spec_of(api.url, proxy.url)))
        with pytest.raises(UnreachableError, match="no connection to 127"):
            await client.call("GET", NODES)
        await client.close()
    assert api.requests == []


@pytest.mark.parametrize("through", ["nothing", "http", "socks"])
async def test_the_certificate_is_checked_against_the_name_that_was_said(authority: trustme.CA, through: str) -> None:
    async with fake_api(serving(authority, "api.internal")) as api, http_proxy() as http, socks_proxy() as socks:
        proxy_url = {"nothing": None, "http": http.url, "socks": socks.url}[through]
        named = client_of(TlsAccess(spec_of(api.url, proxy_url, "api.internal"), trusting(authority)))
        await named.call("GET", NODES)
        await named.close()
        unnamed = client_of(TlsAccess(spec_of(api.url, proxy_url), trusting(authority)))
        with pytest.raises(UnreachableError, match="certificate"):
            await unnamed.call("GET", NODES)
        assert unnamed.health.state is MemberState.REFUSED
        await unnamed.close()


async def test_an_authority_that_is_not_ours_is_refused_and_not_dark(authority: trustme.CA) -> None:
    async with fake_api(serving(trustme.CA(), "127.0.0.1")) as api:
        client = client_of(TlsAccess(spec_of(api.url), trusting(authority)))
        with pytest.raises(UnreachableError, match=r"self-signed|unable to get local issuer"):
            await client.call("GET", NODES)
        assert client.health.state is MemberState.REFUSED
        await client.close()


async def test_new_certificates_are_used_by_the_next_call(authority: trustme.CA) -> None:
    async with fake_api(serving(authority, "127.0.0.1")) as api:
        access = TlsAccess(spec_of(api.url), trusting(trustme.CA()))
        client = client_of(access)
        with pytest.raises(UnreachableError):
            await client.call("GET", NODES)
        access.context = trusting(authority)
        await client.call("GET", NODES)
        assert client.health.state is MemberState.READY
        await client.close()


async def test_the_environments_proxy_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fake_api() as api, http_proxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        client = client_of(api.access())
        await client.call("GET", NODES)
        await client.close()
    assert proxy.asked == []


async def test_a_watch_that_is_left_is_over_at_once_though_nobody_answers_the_good_bye(authority: trustme.CA) -> None:
    async with fake_api(serving(authority, "127.0.0.1")) as api, http_proxy() as proxy:
        client = client_of(TlsAccess(spec_of(api.url, proxy.url), trusting(authority)))
        async with client.stream(NODES, query={"watch": "1", "resourceVersion": "100"}):
            await api.watched(NODES)
            proxy.frozen = True
        await until(lambda: proxy.left == 1, 3.0)
        assert not client.health.notes
        await client.close()
