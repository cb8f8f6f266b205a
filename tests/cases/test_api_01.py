"""api-01: NaN, horizons out of bounds and odd values in forecast requests are answered, never crashed on."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.service import Service, running_service

CART = '{"series": [{"id": "cart", "step_s": 60, "values": %s}], "steps": %s}'
CASES: list[tuple[str, str, int, str | None]] = [
    ("null in values", CART % ("[1, null, 3, 4, 5, 6, 7, 8]", 5), 200, None),
    ("bare NaN token", CART % ("[1, NaN, 3]", 5), 400, "series[0].values[1]"),
    ("bare Infinity token", CART % ("[Infinity]", 5), 400, "series[0].values[0]"),
    ("horizon 0", CART % ("[1, 2, 3]", 0), 400, "steps"),
    ("horizon -5", CART % ("[1, 2, 3]", -5), 400, "steps"),
    ("horizon 10 million", CART % ("[1, 2, 3]", 10_000_000), 422, "1440"),
    ("text in values", CART % ('[1, "two", 3]', 5), 400, "series[0].values[1]"),
    ("empty values", CART % ("[]", 5), 200, None),
    ("unknown field", '{"series": [{"id": "cart", "values": [1]}], "horizon": 5}', 400, "horizon"),
    ("broken JSON", '{"series": [', 400, "body"),
]


def strict(text: str) -> Any:
    """Parsed, with the tokens NaN and Infinity refused."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} in an answer")

    return json.loads(text, parse_constant=refuse)


async def ask(service: Service, body: str) -> tuple[int, Any]:
    started = time.perf_counter()
    answer = await service.client.post("/v1/forecasts", data=body, headers={"Content-Type": "application/json"})
    said = strict(await answer.text())
    assert time.perf_counter() - started < 5.0  # a second on a quiet machine
    return answer.status, said


@pytest.mark.parametrize(("body", "status", "named"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
async def test_each_body_is_answered_by_its_rule(tmp_path: Path, body: str, status: int, named: str | None) -> None:
    async with running_service(tmp_path) as service:
        found, said = await ask(service, body)
        assert found == status, said
        if named is not None:
            assert named in said["detail"]
            assert said["status"] == status
        else:
            assert len(said["forecasts"][0]["steps"]) == 5
        again, _ = await ask(service, '{"series": [{"id": "a", "values": [1, 2, 3]}], "steps": 1}')
        assert again == 200


async def test_the_gap_is_known_to_be_one(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        _, said = await ask(service, CASES[0][1])
        assert said["data"] == "partial"
        assert said["function"] == "cart"


async def test_an_unknown_function_is_not_found(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        answer = await service.client.get("/v1/functions/shop%2Fno-such/forecast?steps=5")
        assert answer.status == 404
        assert answer.content_type == "application/problem+json"
