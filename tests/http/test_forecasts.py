"""A function's forecast: what people announced is in it, neighbours teach a new one, the last good one is read on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from prewarm.forecast.pool import Outcome
from prewarm.forecast.stateless import Request
from prewarm.settings import Event
from tests.service import AbsentPool, InlinePool, Service, running_service


class Listening(InlinePool):
    """An inline pool that remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Request] = []

    async def run(self, work: Any, argument: Any, *, budget_s: float) -> Outcome:
        self.asked.append(argument)
        return await super().run(work, argument, budget_s=budget_s)


async def said_of(service: Service, key: str, steps: int = 10) -> dict[str, Any]:
    answer = await service.client.get(f"/v1/functions/{key.replace('/', '%2F')}/forecast?steps={steps}")
    assert answer.status == 200
    said: dict[str, Any] = await answer.json()
    return said


async def test_an_announced_event_is_in_the_steps_that_it_covers(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.minute({"shop/sale": 0, "pay/charge": 0}, 1)
        first = service.clock.time + 5 * 60
        start, end = (datetime.fromtimestamp(at, UTC) for at in (first, first + 120))
        fleet = service.desk.fleet
        fleet.settings = replace(fleet.settings, event=(Event("sale", "shop/*", start, end, need=3),))
        said = await said_of(service, "shop/sale")
        chances = [step["p_at_least"]["3"] for step in said["steps"]]
        assert [chance >= 0.95 for chance in chances] == [False] * 5 + [True] * 2 + [False] * 3
        assert said["steps"][5]["quantiles"]["0.9"] == 3.0
        assert "announced: sale, 2026-11-30T01:07:00Z" in said["reason"]
        assert "announced" not in (await said_of(service, "pay/charge"))["reason"]


async def test_a_new_function_is_expected_to_behave_as_the_others_of_its_namespace(tmp_path: Path) -> None:
    pool = Listening()
    async with running_service(tmp_path, fits=pool) as service:
        counts = {f"shop/f{i}": 3 for i in range(40)} | {"mail/alone": 1}
        for sequence in range(30):
            await service.minute(counts, sequence)
        await service.minute(counts | {"shop/new": 0}, 30)
        await said_of(service, "shop/new")
        await said_of(service, "mail/alone")
    busy, alone = (request.setting.prior for request in pool.asked)
    assert busy.source == "40 others in shop"
    assert alone.source == "public fleet"
    assert busy.scale > 1.5 * alone.scale


async def test_a_chosen_model_is_named_when_it_is_chosen_anew(tmp_path: Path) -> None:
    pool = Listening()
    async with running_service(tmp_path, fits=pool) as service:
        await service.minute({"shop/a": 3}, 1)
        await said_of(service, "shop/a")
        model = service.desk.chosen[0][0]
        for sequence in range(2, 150):
            await service.minute({"shop/a": 3}, sequence)
        await said_of(service, "shop/a")
    first, second = pool.asked
    assert (first.model, first.setting.incumbent) == ("auto", None)
    assert (second.model, second.setting.incumbent) == ("auto", model)


async def test_without_its_worker_the_last_forecast_is_read_on_and_says_how_old_it_is(tmp_path: Path) -> None:
    async with running_service(tmp_path) as service:
        await service.minute({"shop/a": 70}, 1)
        made = await said_of(service, "shop/a", steps=40)
        service.desk.fits = AbsentPool()
        for sequence in range(2, 22):
            await service.minute({"shop/a": 70}, sequence)
        old = await said_of(service, "shop/a", steps=20)
        assert "of 1200 s ago still serves: the worker process died" in old["reason"]
        means = np.array([step["mean"] for step in old["steps"]])
        was = np.array([step["mean"] for step in made["steps"]])
        np.testing.assert_allclose(means[1:], was[21:40])
        far = await said_of(service, "shop/a", steps=300)
        assert far["model"] == "rule"


async def test_a_decision_names_the_forecast_of_its_minute(tmp_path: Path) -> None:
    """The id in the decision's inputs is the id of the forecast that is served beside it."""
    async with running_service(tmp_path) as service:
        await service.minute({"shop/cart": 2}, 1)
        said = await said_of(service, "shop/cart")
        answer = await service.client.get("/v1/functions/shop%2Fcart/decision")
        decision = await answer.json()
    assert decision["inputs"]["forecast"] == said["id"]
    assert decision["inputs"]["cost_idle_per_min"] > 0
