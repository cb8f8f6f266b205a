"""Real handshakes with a real server: authorities, names, rotation of certificates, and files that are at fault."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from aiohttp import web
from cryptography.hazmat.primitives import serialization

from federation.kubeconfig.access import Access, MemberError
from federation.kubeconfig.listing import Member
from tests.federation.kubeconfig.made import HandClock, only, plugin, program

CERT, KEY = "client-certificate", "client-key"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Who signs everything here."""
    return trustme.CA()


@asynccontextmanager
async def server(authority: trustme.CA, *names: str, client_authority: trustme.CA | None = None) -> AsyncIterator[int]:
    """A TLS server whose certificate has these names; it answers with the name in the client's certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(context)
    if client_authority:
        client_authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED

    async def who(request: web.Request) -> web.Response:
        assert request.transport is not None
        certificate: dict[str, Any] = request.transport.get_extra_info("peercert") or {}
        return web.Response(text=dict(certificate.get("subjectAltName", ())).get("DNS", "nobody"))

    app = web.Application()
    app.router.add_get("/", who)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def ask(access: Access) -> str:
    """What the server answers over a connection of its own."""
    context = await access.tls()
    assert context is not None
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        name = access.spec.tls_server_name
        async with session.get(access.spec.server, ssl=context, server_hostname=name) as answer:
            return await answer.text()


def inline(data: bytes) -> str:
    """For a field that ends in -data."""
    return base64.b64encode(data).decode()


def put(folder: Path, certificate: trustme.LeafCert) -> None:
    """The pair as files."""
    (folder / "one.crt").write_bytes(b"".join(pem.bytes() for pem in certificate.cert_chain_pems))
    (folder / "one.key").write_bytes(certificate.private_key_pem.bytes())


async def test_an_authority_in_place_and_one_in_a_file(tmp_path: Path, authority: trustme.CA) -> None:
    (tmp_path / "ca.crt").write_bytes(authority.cert_pem.bytes())
    async with server(authority, "127.0.0.1") as port:
        url = f"https://127.0.0.1:{port}"
        by_file = await only(tmp_path, {"server": url, "certificate-authority": "ca.crt"})
        assert await ask(by_file.open()) == "nobody"
        data = inline(authority.cert_pem.bytes())
        by_data = await only(tmp_path, {"server": url, "certificate-authority-data": data})
        assert await ask(by_data.open()) == "nobody"


async def test_without_the_authority_the_system_decides_and_does_not_trust(
    tmp_path: Path, authority: trustme.CA
) -> None:
    async with server(authority, "127.0.0.1") as port:
        stranger = await only(tmp_path, {"server": f"https://127.0.0.1:{port}"})
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await ask(stranger.open())
        careless = await only(tmp_path, {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True})
        assert await ask(careless.open()) == "nobody"


async def test_an_intermediate_authority_is_trusted_as_go_trusts_it(tmp_path: Path, authority: trustme.CA) -> None:
    middle = authority.create_child_ca()
    async with server(middle, "127.0.0.1") as port:
        data = inline(middle.cert_pem.bytes())
        one = await only(tmp_path, {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": data})
        assert await ask(one.open()) == "nobody"


async def test_the_name_of_the_server_is_checked_and_may_be_another(tmp_path: Path, authority: trustme.CA) -> None:
    async with server(authority, "api.example") as port:
        cluster = {
            "server": f"https://127.0.0.1:{port}",
            "certificate-authority-data": inline(authority.cert_pem.bytes()),
        }
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await ask((await only(tmp_path, cluster)).open())
        named = await only(tmp_path, {**cluster, "tls-server-name": "api.example"})
        assert await ask(named.open()) == "nobody"


async def rotating(folder: Path, authority: trustme.CA, port: int) -> Member:
    """A member whose certificate is in files that change."""
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": inline(authority.cert_pem.bytes())}
    return await only(folder, cluster, {CERT: "one.crt", KEY: "one.key"})


async def test_a_client_certificate_is_read_again_when_its_files_change(tmp_path: Path, authority: trustme.CA) -> None:
    async with server(authority, "127.0.0.1", client_authority=authority) as port:
        put(tmp_path, authority.issue_cert("ann.example"))
        clock = HandClock()
        access = (await rotating(tmp_path, authority, port)).open(now=clock)
        first = await access.tls()
        assert await ask(access) == "ann.example"
        clock.now += 100
        assert await access.tls() is first  # nothing changed
        put(tmp_path, authority.issue_cert("bob.example"))
        assert await access.tls() is first  # not looked at again yet
        clock.now += 10
        assert await access.tls() is not first
        assert await ask(access) == "bob.example"


async def test_after_a_refusal_the_files_are_looked_at_at_once(tmp_path: Path, authority: trustme.CA) -> None:
    put(tmp_path, authority.issue_cert("ann.example"))
    access = (await rotating(tmp_path, authority, 1)).open(now=HandClock())
    first = await access.tls()
    assert await access.renew() is False
    put(tmp_path, authority.issue_cert("bob.example"))
    assert await access.renew() is True
    assert await access.tls() is not first


@pytest.mark.parametrize("harm", ["half the key", "another key", "no file", "empty"])
async def test_a_half_done_rotation_leaves_the_last_good_certificate(
    tmp_path: Path, authority: trustme.CA, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, authority.issue_cert("ann.example"))
    clock = HandClock()
    access = (await rotating(tmp_path, authority, 1)).open(now=clock)
    first = await access.tls()
    key = tmp_path / "one.key"
    whole = key.read_bytes()
    if harm == "no file":
        key.unlink()
    else:
        other = authority.issue_cert("bob.example").private_key_pem.bytes()
        key.write_bytes({"half the key": whole[:200], "another key": other, "empty": b""}[harm])
    clock.now += 10
    assert await access.tls() is first
    assert "keeps its certificates of before" in caplog.text
    assert "one.key" in caplog.text
    put(tmp_path, authority.issue_cert("carl.example"))
    clock.now += 10
    assert await access.tls() not in (first, None)


@pytest.mark.parametrize(
    ("cluster", "user", "said"),
    [
        ({"certificate-authority": "no.crt"}, None, "certificate-authority {folder}/no.crt: No such file"),
        ({"certificate-authority": "text.crt"}, None, "{folder}/text.crt: is not a certificate in PEM"),
        ({"certificate-authority-data": "eA=="}, None, "cluster 'c'.certificate-authority-data: is not a certificate"),
        ({"certificate-authority-data": "/w=="}, None, "certificate-authority-data: is not a certificate"),
        ({}, {CERT: "text.crt", KEY: "text.crt"}, "client-certificate {folder}/text.crt, client-key {folder}/text.crt"),
        ({}, {f"{CERT}-data": "eA==", f"{KEY}-data": "eA=="}, "user 'u'.client-key-data: no pair"),
    ],
)
async def test_what_is_wrong_with_certificates_is_named(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any] | None, said: str
) -> None:
    (tmp_path / "text.crt").write_text("made-up-secret")
    access = (await only(tmp_path, {"server": "https://127.0.0.1:1", **cluster}, user)).open()
    with pytest.raises(MemberError, match=r"^only: ") as caught:
        await access.tls()
    assert said.format(folder=tmp_path) in str(caught.value)
    assert "made-up-secret" not in str(caught.value)


async def test_an_encrypted_key_is_refused_and_nobody_is_asked(tmp_path: Path, authority: trustme.CA) -> None:
    leaf = authority.issue_cert("ann.example")
    put(tmp_path, leaf)
    key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"word")
    )
    (tmp_path / "one.key").write_bytes(locked)
    access = (await rotating(tmp_path, authority, 1)).open()
    with pytest.raises(MemberError, match=r"one\.key: no pair of certificate and key"):
        await access.tls()


async def test_a_system_without_nameless_memory_gets_a_file_that_is_gone_afterwards(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    async with server(authority, "127.0.0.1", client_authority=authority) as port:
        put(tmp_path, authority.issue_cert("ann.example"))
        assert await ask((await rotating(tmp_path, authority, port)).open()) == "ann.example"
    assert list((tmp_path / "temporary").iterdir()) == []


async def test_plain_http_has_no_tls(tmp_path: Path) -> None:
    assert await (await only(tmp_path, {"server": "http://127.0.0.1:1"})).open().tls() is None


async def test_a_plugin_may_give_certificates_which_change_too(tmp_path: Path, authority: trustme.CA) -> None:
    async with server(authority, "127.0.0.1", client_authority=authority) as port:
        put(tmp_path, authority.issue_cert("ann.example"))
        login = program(
            tmp_path / "login",
            f"""cd {tmp_path}; pem() {{ awk '{{printf "%s\\\\n", $0}}' $1; }}
printf '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {{'
printf '"clientCertificateData": "%s", "clientKeyData": "%s"}}}}' "$(pem one.crt)" "$(pem one.key)" """,
        )
        data = inline(authority.cert_pem.bytes())
        cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": data}
        access = (await only(tmp_path, cluster, plugin(login))).open()
        assert await ask(access) == "ann.example"
        assert "Authorization" not in await access.headers()
        put(tmp_path, authority.issue_cert("bob.example"))
        assert await access.renew() is True
        assert await ask(access) == "bob.example"
