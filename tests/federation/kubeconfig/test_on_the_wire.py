"""What the real kubectl sends to a real server with an entry, we would send too; what it refuses, so do we."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from federation.kubeconfig.access import Access
from tests.federation.kubeconfig.made import SERVER, only, plugin, program, single, why_broken, write


@dataclass
class Server:
    """A TLS server that keeps what it is told of the asker."""

    cluster: dict[str, Any]
    headers: list[tuple[str, str]] = field(default_factory=list)
    certificate: str | None = None

    async def answer(self, request: web.Request) -> web.Response:
        """Whatever is asked."""
        assert request.transport is not None
        self.headers = told(request.headers)
        peer: dict[str, Any] = request.transport.get_extra_info("peercert") or {}
        self.certificate = dict(peer.get("subjectAltName", ())).get("DNS")
        return web.json_response({})


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Who signs everything here."""
    return trustme.CA()


@pytest.fixture
async def server(authority: trustme.CA) -> AsyncIterator[Server]:
    """A server whose certificate is for another name than its address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("api.example").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    inline = base64.b64encode(authority.cert_pem.bytes()).decode()
    here = Server({"tls-server-name": "api.example", "certificate-authority-data": inline})
    app = web.Application()
    app.router.add_get("/{path:.*}", here.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    here.cluster["server"] = f"https://127.0.0.1:{runner.addresses[0][1]}"
    yield here
    await runner.cleanup()


def told(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The headers that say who asks, in a comparable order."""
    found = [(name.lower(), value) for name, value in headers.items()]
    return sorted(pair for pair in found if pair[0] == "authorization" or pair[0].startswith("impersonate-"))


async def ask(kubectl: Path, folder: Path) -> tuple[int | None, str]:
    """kubectl's exit status and complaint for one request with the only context of `folder`'s config."""
    process = await asyncio.create_subprocess_exec(
        kubectl,
        *("--kubeconfig", str(folder / "config"), "--context", "only", "get", "--raw", "/hello"),
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "INFO": str(folder / "info")},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        _, complaint = await process.communicate()
    return process.returncode, complaint.decode()


async def ours(folder: Path, server: Server, user: Mapping[str, object]) -> Access:
    """Our access by the same file."""
    return (await only(folder, server.cluster, user)).open()


@pytest.mark.parametrize(
    "user",
    [
        {"token": "made-up"},
        {"tokenFile": "token"},
        {"token": "made-up", "tokenFile": "token"},
        {"token": "made-up", "tokenFile": "no-such-file"},
        {"username": "ann", "password": "p:ö"},
        {"token": "made-up", "as": "bob"},
        {
            "token": "made-up",
            "as": "bob",
            "as-uid": "7",
            "as-groups": ["dev", "system:masters"],
            "as-user-extra": {"example.org/Scope": ["a", "b"], "per%cent": ["ö"], "it's": ["c"]},
        },
    ],
)
async def test_the_same_headers(kubectl: Path, tmp_path: Path, server: Server, user: dict[str, Any]) -> None:
    (tmp_path / "token").write_text("from-the-file\n")
    access = await ours(tmp_path, server, user)
    status, complaint = await ask(kubectl, tmp_path)
    assert status == 0, complaint
    assert told(await access.headers()) == server.headers


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_plugins_are_told_the_same_and_give_the_same(
    kubectl: Path, tmp_path: Path, server: Server, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api_version = f"client.authentication.k8s.io/{version}"
    answer = {"apiVersion": api_version, "kind": "ExecCredential", "status": {"token": "from-the-plugin"}}
    program(tmp_path / "login", f'echo "$KUBERNETES_EXEC_INFO" > "$INFO"\necho \'{json.dumps(answer)}\'')
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "fleet", "list": [1, None]}}
    server.cluster["extensions"] = [extension]
    server.cluster["disable-compression"] = True
    access = await ours(tmp_path, server, plugin("./login", apiVersion=api_version, provideClusterInfo=True))
    status, complaint = await ask(kubectl, tmp_path)
    assert status == 0, complaint
    theirs = json.loads((tmp_path / "info").read_text())
    monkeypatch.setenv("INFO", str(tmp_path / "info"))
    assert told(await access.headers()) == server.headers == [("authorization", "Bearer from-the-plugin")]
    assert json.loads((tmp_path / "info").read_text()) == theirs


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({"insecure-skip-tls-verify": True, "certificate-authority-data": "eA=="}, {}),
        ({"proxy-url": "socks4://p"}, {}),
        ({"proxy-url": "p:3128"}, {}),
        ({"server": "a/b"}, {}),
        ({"server": 6443}, {}),
        ({"certificate-authority-data": "not base64!"}, {}),
        ({}, {"token": "t", "username": "ann"}),
        ({}, {"token": 7}),
        ({}, {"token": "t\n"}),
        ({}, {"client-certificate-data": "eA=="}),
        ({}, {"as-groups": ["g"]}),
        ({}, plugin("")),
        ({}, plugin("true", interactiveMode="Always")),
        ({}, plugin("true", interactiveMode=None)),
        ({}, plugin("true", interactiveMode="Sometimes")),
        ({}, plugin("true", apiVersion="client.authentication.k8s.io/v1alpha1")),
        ({}, {"auth-provider": {"name": "gcp"}}),
    ],
)
async def test_both_refuse(kubectl: Path, tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    assert await why_broken(tmp_path, {"server": SERVER, **cluster}, user)
    status, complaint = await ask(kubectl, tmp_path)
    assert status == 1
    assert "refused" not in complaint, "it tried to connect"


async def test_a_certificate_of_a_file_reaches_the_server(
    kubectl: Path, tmp_path: Path, server: Server, authority: trustme.CA
) -> None:
    leaf = authority.issue_cert("ann.example")
    (tmp_path / "one.crt").write_bytes(leaf.cert_chain_pems[0].bytes())
    (tmp_path / "one.key").write_bytes(leaf.private_key_pem.bytes())
    user = {"client-certificate": "one.crt", "client-key": "one.key"}
    write(tmp_path / "config", single(server.cluster, user))
    status, complaint = await ask(kubectl, tmp_path)
    assert status == 0, complaint
    assert server.certificate == "ann.example"
