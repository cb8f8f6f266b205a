"""Who may do what, from where; and what a request that is no good gets back."""

from __future__ import annotations

import asyncio
import hashlib
import io
import ssl
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from prewarm.api import BODY_LIMIT, Certificates, build_app, listen
from prewarm.domain import InputError
from prewarm.http.auth import Right, check_listen, is_loopback, right_of, split_address
from prewarm.http.problem import ProblemError
from prewarm.settings import Auth
from tests.service import running_desk, running_service


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


AUTH = Auth(read_token_sha256=(digest("reader"),), write_token_sha256=(digest("writer"),))


@pytest.mark.parametrize(
    ("token", "method", "path", "status"),
    [
        (None, "GET", "/v1/functions", 401),
        (None, "PUT", "/v1/mode", 401),
        (None, "GET", "/metrics", 401),
        (None, "GET", "/healthz", 200),
        (None, "GET", "/openapi.json", 200),
        (None, "GET", "/", 200),
        ("wrong", "GET", "/v1/functions", 401),
        ("wrong", "PUT", "/v1/mode", 401),
        ("reader", "GET", "/v1/functions", 200),
        ("reader", "PUT", "/v1/mode", 403),
        ("reader", "POST", "/v1/invocations", 403),
        ("writer", "GET", "/v1/functions", 200),
        ("writer", "PUT", "/v1/mode", 200),
    ],
)
async def test_reading_and_writing_are_separate_rights(
    tmp_path: Path, token: str | None, method: str, path: str, status: int
) -> None:
    async with running_service(tmp_path, auth=AUTH) as service:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        body = {"default": "shadow"} if method == "PUT" else None
        answer = await service.client.request(method, path, headers=headers, json=body)
        assert answer.status == status, await answer.text()
        assert ("WWW-Authenticate" in answer.headers) == (status == 401)


async def test_a_token_that_is_refused_is_not_repeated_in_the_answer(tmp_path: Path) -> None:
    async with running_service(tmp_path, auth=AUTH) as service:
        answer = await service.client.get("/v1/functions", headers={"Authorization": "Bearer s3cret"})
        assert "s3cret" not in await answer.text()


@pytest.mark.parametrize("scheme", ["Basic reader", "Bearer", "Bearer ", "reader"])
async def test_anything_but_a_bearer_token_is_no_token(tmp_path: Path, scheme: str) -> None:
    async with running_service(tmp_path, auth=AUTH) as service:
        answer = await service.client.get("/v1/functions", headers={"Authorization": scheme})
        assert answer.status == 401


def test_each_token_has_its_right() -> None:
    assert right_of("reader", AUTH) is Right.READ
    assert right_of("writer", AUTH) is Right.WRITE
    assert right_of("", AUTH) is Right.OPEN
    assert right_of("ünïcode", AUTH) is Right.OPEN


@pytest.mark.parametrize("address", ["0.0.0.0:8808", "192.0.2.1:80", "[::]:8808", "example.org:8808"])
def test_without_tokens_only_this_machine_is_served(address: str) -> None:
    with pytest.raises(InputError, match="which needs a token"):
        check_listen(address, Auth())
    check_listen(address, AUTH)


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:8808", "[::1]:8808", "127.8.8.8:1"])
def test_this_machine_needs_no_token(address: str) -> None:
    check_listen(address, Auth())
    assert is_loopback(split_address(address)[0])


@pytest.mark.parametrize("address", ["8808", ":8808", "host:", "host:99999", "host:x"])
def test_an_address_is_host_and_port(address: str) -> None:
    with pytest.raises(InputError, match="must be HOST:PORT"):
        split_address(address)


async def test_a_page_that_rebinds_its_name_to_this_machine_is_turned_away(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        answer = await service.client.get("/v1/functions", headers={"Host": "evil.example:8808"})
        assert answer.status == 421
        assert (await service.client.get("/v1/functions", headers={"Host": "localhost:8808"})).status == 200


async def test_wrong_paths_methods_and_types_are_problems(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        missing = await service.client.get("/v1/nothing")
        assert (missing.status, missing.content_type) == (404, "application/problem+json")
        wrong = await service.client.delete("/v1/mode")
        assert (wrong.status, wrong.headers["Allow"]) == (405, "GET, HEAD, PUT")
        typed = await service.client.put("/v1/mode", data="default=shadow")
        assert typed.status == 415
        large = await service.client.put(
            "/v1/mode", data=io.BytesIO(b" " * (BODY_LIMIT + 1)), headers={"Content-Type": "application/json"}
        )
        assert large.status == 413
        extra = await service.client.get("/v1/functions?colour=red")
        assert (await extra.json())["detail"] == "colour: unknown field"
        twice = await service.client.get("/v1/functions?limit=1&limit=2")
        assert (await twice.json())["detail"] == "limit: is given twice"
        head = await service.client.head("/v1/mode")
        assert (head.status, await head.read()) == (200, b"")


async def test_the_page_lets_nothing_in_from_elsewhere(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        page = await service.client.get("/")
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        text = await page.text()
        assert "http://" not in text
        assert "https://" not in text
        assert (await service.client.get("/assets/app.js")).content_type == "text/javascript"
        assert (await service.client.get("/assets/..%2Fapi.py")).status == 404


async def test_a_renewed_certificate_is_read_without_a_restart(tmp_path: Path) -> None:
    authority = trustme.CA()
    auth = Auth(tls_cert=tmp_path / "cert.pem", tls_key=tmp_path / "key.pem")
    _write(authority.issue_cert("localhost", "127.0.0.1"), auth)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with running_desk(tmp_path) as (desk, _):
        certificates = Certificates(auth)
        runner, url = await listen(build_app(desk), "127.0.0.1:0", auth, certificates)
        try:
            first = await _serial(url, trusting)
            assert certificates.reload() is False
            _write(authority.issue_cert("localhost", "127.0.0.1"), auth)
            assert certificates.reload() is True
            assert await _serial(url, trusting) != first
            (tmp_path / "cert.pem").write_text("no certificate")
            with pytest.raises(InputError, match="cannot be used"):
                certificates.reload()
            assert await _serial(url, trusting) != first
        finally:
            await runner.cleanup()


async def test_half_a_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="go together"):
        Certificates(Auth(tls_cert=tmp_path / "cert.pem"))
    with pytest.raises(InputError, match="cannot be read"):
        Certificates(Auth(tls_cert=tmp_path / "cert.pem", tls_key=tmp_path / "key.pem"))


async def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        with pytest.raises(InputError, match="cannot be used"):
            await listen(web.Application(), f"127.0.0.1:{service.client.port}", Auth(), Certificates(Auth()))


def _write(issued: trustme.LeafCert, auth: Auth) -> None:
    assert auth.tls_cert is not None
    assert auth.tls_key is not None
    issued.private_key_pem.write_to_path(str(auth.tls_key))
    issued.cert_chain_pems[0].write_to_path(str(auth.tls_cert))


async def _serial(url: str, trusting: ssl.SSLContext) -> object:
    """The serial number of the certificate that a new connection is shown."""
    port = int(url.rstrip("/").rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
    found = writer.get_extra_info("peercert")
    writer.close()
    await writer.wait_closed()
    return found["serialNumber"]


class Reviews:
    """A cluster that knows one user, who may read everywhere and write in shop."""

    def __init__(self) -> None:
        self.asked: list[tuple[Right, frozenset[str]]] = []

    async def __call__(self, token: str, right: Right, namespaces: frozenset[str]) -> None:
        self.asked.append((right, namespaces))
        if token != "eve":
            raise ProblemError(401, "the token is known neither here nor to the cluster")
        if right is Right.WRITE and not namespaces <= {"shop"}:
            raise ProblemError(403, "eve may not")


EVENT = {"at": "2026-11-30T10:00:00Z", "count": 1}


@pytest.mark.parametrize(
    ("token", "method", "path", "body", "status"),
    [
        ("eve", "GET", "/v1/functions", None, 200),
        ("eve", "PUT", "/v1/overrides/shop%2Fcart", {"action": "freeze"}, 200),
        ("eve", "PUT", "/v1/overrides/pay%2Fcard@eu-1", {"action": "freeze"}, 403),
        ("eve", "PUT", "/v1/mode", {"default": "shadow"}, 403),
        ("mallory", "GET", "/v1/functions", None, 401),
        ("mallory", "PUT", "/v1/mode", "x" * 100, 401),
        ("writer", "PUT", "/v1/mode", {"default": "shadow"}, 200),
    ],
    ids=["reads", "writes-own", "writes-other", "writes-all", "unknown", "unknown-before-its-body", "static"],
)
async def test_where_a_cluster_reviews_tokens_rights_hold_by_namespace(
    tmp_path: Path, token: str, method: str, path: str, body: object, status: int
) -> None:
    if isinstance(body, dict) and "action" in body:
        body = {**body, "owner": "o", "reason": "r", "expires_at": None}
    auth = replace(AUTH, token_review="eu-1")
    async with running_service(tmp_path, auth=auth, review=Reviews()) as service:
        headers = {"Authorization": f"Bearer {token}"}
        answer = await service.client.request(method, path, headers=headers, json=body)
        assert answer.status == status, await answer.text()


async def test_a_batch_needs_the_right_in_every_namespace_that_it_speaks_of(tmp_path: Path) -> None:
    reviews = Reviews()
    async with running_service(tmp_path, auth=replace(AUTH, token_review="eu-1"), review=reviews) as service:
        events = [{"function": "shop/a", **EVENT}, {"function": "pay/b", **EVENT}]
        batch = {"source": "g", "sequence": 1, "events": events}
        answer = await service.client.post("/v1/invocations", json=batch, headers={"Authorization": "Bearer eve"})
        assert answer.status == 403
        assert reviews.asked == [(Right.OPEN, frozenset()), (Right.WRITE, frozenset({"shop", "pay"}))]


async def test_without_a_fleet_nobody_reviews_and_static_tokens_go_on(tmp_path: Path) -> None:
    async with running_service(tmp_path, auth=replace(AUTH, token_review="eu-1")) as service:
        unknown = await service.client.get("/v1/functions", headers={"Authorization": "Bearer eve"})
        assert unknown.status == 503
        known = await service.client.get("/v1/functions", headers={"Authorization": "Bearer reader"})
        assert known.status == 200
