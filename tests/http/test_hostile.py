"""Requests of someone who tries to break it: each gets a problem that names the fault, and nothing is left behind."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from prewarm.api import Certificates, build_app, listen
from prewarm.http import forecasts, routes
from prewarm.settings import Auth
from tests.service import running_service

PIN: dict[str, Any] = {"action": "pin", "value": 3, "owner": "team-shop", "reason": "launch", "expires_at": None}


@pytest.mark.parametrize(
    ("method", "path", "body", "detail"),
    [
        ("PUT", "/v1/overrides/a%2Fb", PIN | {"expires_at": "9999-12-31T23:59:59-14:00"}, "expires_at: must be in"),
        ("PUT", "/v1/overrides/a%2Fb", PIN | {"reason": "\x1b[31mred"}, "reason: must match"),
        ("PUT", "/v1/overrides/a%2Fb", PIN | {"reason": "a\x00b"}, "reason: must match"),
        ("PUT", "/v1/overrides/a%2Fb@", PIN, "cluster: must be 1 to 253 characters"),
        ("PUT", "/v1/overrides/a%2Fb@%0A", PIN, "cluster: must be 1 to 253 characters"),
        ("PUT", "/v1/overrides/a%2Fb%00", PIN, "key: must be namespace/name"),
        ("PUT", "/v1/functions/nope/policy", {"min": 1}, "key: must be namespace/name"),
        ("PUT", "/v1/functions/a%00%2Fb/policy", {"min": 1}, "key: must be namespace/name"),
        ("PUT", "/v1/functions/a%2Fb/policy", {"windows": [{"zone": "Europe"}]}, "windows[0]: zone: is not a time"),
        ("PUT", "/v1/mode", {"default": "active", "namespaces": {"a\x00": "active"}}, "namespaces.a\x00.[key]: must"),
        ("GET", "/v1/decisions?cursor=newest", None, "cursor: must match"),
        ("GET", "/v1/decisions?cursor=%00", None, "cursor: must match"),
    ],
)
async def test_what_could_not_be_kept_or_shown_again_is_refused(
    tmp_path: Path, method: str, path: str, body: Any, detail: str
) -> None:
    async with running_service(tmp_path) as service:
        answer = await service.client.request(method, path, json=body)
        assert (answer.status, answer.content_type) == (400, "application/problem+json"), await answer.text()
        assert (await answer.json())["detail"].startswith(detail)
        assert (await (await service.client.get("/v1/overrides")).json())["overrides"] == []


async def test_an_id_that_none_can_have_is_not_looked_for(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        assert (await service.client.get("/v1/decisions/%00")).status == 404


@pytest.mark.parametrize("start", ["9999-12-31T00:00:00Z", "0001-01-01T00:00:00Z"])
async def test_a_forecast_beyond_the_calendar_is_refused(tmp_path: Path, start: str) -> None:
    async with running_service(tmp_path) as service:
        series = {"id": "a", "step_s": 86_400, "start": start, "values": [1, 1]}
        answer = await service.client.post("/v1/forecasts", json={"series": [series]})
        assert answer.status == 400
        assert (await answer.json())["detail"].startswith("series[0].start: must be in the years 1900 to 8999")


async def test_a_key_with_braces_has_an_address(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({"a/{b}": 1}, 1)
        await service.tick()
        answer = await service.client.get("/v1/functions/a%2F%7Bb%7D/decision")
        assert (await answer.json())["function"] == "a/{b}"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_body_that_is_not_compressed_as_it_says_is_a_fault_of_the_sender(tmp_path: Path, coding: str) -> None:
    async with running_service(tmp_path) as service:
        headers = {"Content-Type": "application/json", "Content-Encoding": coding}
        answer = await service.client.post("/v1/invocations", data=b"not compressed", headers=headers)
        assert answer.status == 400
        assert (await answer.json())["detail"].startswith("body: cannot be read")


async def test_a_body_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "BODY_S", 0.05)
    async with running_service(tmp_path) as service:
        server = service.client.server
        assert server.port is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = (
            b"PUT /v1/mode HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n"
        )
        writer.write(head + b'{"default"')
        status = await asyncio.wait_for(reader.readline(), 5)
        assert status.startswith(b"HTTP/1.1 408 ")
        writer.close()
        await writer.wait_closed()


HEAD = b"PUT /v1/mode HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "why"),
    [
        (HEAD + b"Content-Length: -3\r\n\r\n", "Invalid character in Content-Length"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n", "Invalid character in chunk size"),
        (HEAD + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde", "Can not decode content-encoding: gzip"),
    ],
)
async def test_a_request_that_is_no_http_is_one_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, request_bytes: bytes, why: str
) -> None:
    async with running_service(tmp_path) as service:
        runner, url = await listen(build_app(service.desk), "127.0.0.1:0", Auth(), Certificates(Auth()))
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rstrip("/").rpartition(":")[2]))
        writer.write(request_bytes)
        assert b" 400 " in await asyncio.wait_for(reader.readline(), 5)
        await asyncio.wait_for(reader.read(), 5)
        writer.close()
        await writer.wait_closed()
        await runner.cleanup()
    (record,) = (one for one in caplog.records if one.name == "aiohttp.server")
    assert (record.levelno, record.getMessage(), record.exc_info) == (logging.WARNING, "bad request", None)
    assert why in record.__dict__["why"]


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_failure_of_ours(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_service(tmp_path) as service:
        server = service.client.server
        assert server.port is not None
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(HEAD + b'Content-Length: 50\r\n\r\n{"default"')
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.close()
        await writer.wait_closed()
        await asyncio.sleep(0.1)
        assert (await service.client.get("/metrics")).status == 200  # it serves on
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


async def test_readers_cannot_fill_the_memory_with_spellings_of_one_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasts, "BODIES_MOST", 3)
    async with running_service(tmp_path) as service:
        await service.push({"shop/checkout": 1}, 1)
        await service.tick()
        for steps in ("1", "2", "3", "4", "05", "1440"):
            answer = await service.client.get(f"/v1/functions/shop%2Fcheckout/forecast?steps={steps}")
            assert len((await answer.json())["steps"]) == int(steps)
        view = service.desk.fleet.view
        assert view is not None
        assert len(view.bodies) == 3
