"""Overrides, modes, policies and the graph: set, read back, in force at the next tick, audited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prewarm.domain import rfc3339
from tests.service import NOW, Service, running_service

CHECKOUT = "/v1/overrides/shop%2Fcheckout"
PIN: dict[str, Any] = {"action": "pin", "value": 3, "owner": "team-shop", "reason": "launch", "expires_at": None}


async def warm_of(service: Service, key: str = "shop/checkout") -> dict[str, Any]:
    """The latest decision on a function."""
    answer = await service.client.get(f"/v1/functions/{key.replace('/', '%2F')}/decision")
    found: dict[str, Any] = await answer.json()
    return found


async def test_a_pin_holds_from_the_next_tick_until_it_is_ended(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({"shop/checkout": 1}, 1)
        await service.client.put(CHECKOUT, json=PIN)
        await service.tick()
        made = await warm_of(service)
        assert made["to"] == 3
        assert made["reasons"][-1]["text"] == "pin by team-shop: launch"
        assert (await service.client.delete(CHECKOUT)).status == 200
        assert (await service.client.get(CHECKOUT)).status == 404
        await service.push({"shop/checkout": 0}, 2)
        await service.tick(12)
        audit = (await (await service.client.get("/v1/audit")).json())["audit"]
        assert [(entry["what"], entry["name"], entry["after"] is None) for entry in audit] == [
            ("override", "shop/checkout", True),
            ("override", "shop/checkout", False),
        ]


async def test_an_override_expires_by_the_clock_of_the_service(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({"shop/checkout": 1}, 1)
        await service.client.put(CHECKOUT, json={**PIN, "expires_at": rfc3339(NOW + 90)})
        await service.tick()
        assert (await warm_of(service))["to"] == 3
        await service.tick()
        assert (await (await service.client.get("/v1/overrides")).json())["overrides"] == []


async def test_one_cluster_and_all_of_them_are_two_overrides(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.client.put(CHECKOUT, json=PIN)
        answer = await service.client.put(f"{CHECKOUT}@eu-1", json={**PIN, "action": "freeze", "value": None})
        assert (await answer.json())["cluster"] == "eu-1"
        page = await (await service.client.get("/v1/overrides?limit=1")).json()
        rest = await (await service.client.get("/v1/overrides", params={"cursor": page["next"]})).json()
        assert [one["cluster"] for one in page["overrides"] + rest["overrides"]] == [None, "eu-1"]
        assert rest["next"] is None


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"value": None}, "value: is required for pin"),
        ({"action": "freeze"}, "value: has no meaning for freeze, leave it out"),
        ({"action": "bounce"}, "action: must be one of"),
        ({"value": -1}, "value: must be 0 or more, is -1"),
        ({"owner": ""}, "owner: must have at least 1 characters"),
        ({"expires_at": "tomorrow"}, "expires_at: must be an RFC 3339 time, is 'tomorrow'"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at: must be in the future"),
        ({"color": "red"}, "color: unknown field"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_what_is_wrong_with_an_override_is_named(tmp_path: Path, change: dict[str, Any], detail: str) -> None:
    async with running_service(tmp_path) as service:
        answer = await service.client.put(CHECKOUT, json={**PIN, **change})
        assert answer.status == 400
        assert (await answer.json())["detail"].startswith(detail)


async def test_an_expiry_has_to_be_said(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        body = {name: value for name, value in PIN.items() if name != "expires_at"}
        answer = await service.client.put(CHECKOUT, json=body)
        assert (await answer.json())["detail"] == "expires_at: is required"


async def test_modes_are_by_namespace_and_shown_on_every_function(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({"shop/checkout": 1, "pay/charge": 1}, 1)
        said = {"default": "shadow", "namespaces": {"shop": "active"}, "learned_share": {"shop": 0.1}}
        assert await (await service.client.put("/v1/mode", json=said)).json() == said
        await service.tick()
        found = (await (await service.client.get("/v1/functions")).json())["functions"]
        assert {row["key"]: row["mode"] for row in found} == {"pay/charge": "shadow", "shop/checkout": "active"}


async def test_a_policy_is_checked_kept_and_obeyed(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.push({"shop/checkout": 1}, 1)
        path = "/v1/functions/shop%2Fcheckout/policy"
        refused = await service.client.put(path, json={"min": 5, "max": 2})
        assert (await refused.json())["detail"] == "max: must be at least min (5), is 2"
        kept = await (await service.client.put(path, json={"min": 2, "windows": [{"zone": "Europe/Rome"}]})).json()
        assert kept["source"] == "api"
        assert kept["min"] == 2
        await service.tick()
        assert (await warm_of(service))["to"] == 2
    async with running_service(tmp_path) as service:
        assert (await (await service.client.get(path)).json())["windows"][0]["zone"] == "Europe/Rome"


async def test_the_graph_replaces_that_of_the_configuration(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        edge = {"caller": "a/b", "callee": "a/c", "calls_per_invocation": 0.5, "delay_s": 2.0, "payload_kib": 0.0}
        assert (await service.client.put("/v1/graph", json={"calls": [edge]})).status == 200
        assert await (await service.client.get("/v1/graph")).json() == {"calls": [edge]}
        assert service.desk.fleet.calls[0].callee == "a/c"
