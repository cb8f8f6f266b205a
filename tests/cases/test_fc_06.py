"""Reported: a seasonal model of a fortnight of minutes took all memory and every other forecast waited for it."""

from __future__ import annotations

import asyncio
import time

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.pool import FitPool, forecast_in_worker
from prewarm.forecast.stateless import answer, parse_request


def portal(t: FloatArray) -> FloatArray:
    calls: FloatArray = 50 + 40 * np.sin(2 * np.pi * t / 1440) + 5 * np.sin(2 * np.pi * t / 60)
    return calls


def body(model: str, values: list[float]) -> dict[str, object]:
    series = {"id": "portal/home", "step_s": 60, "start": "2026-01-05T00:00:00Z", "values": values}
    return {"series": [series], "steps": 60, "model": model}


async def test_a_reduced_form_answers_in_time_while_others_are_forecast() -> None:
    values = np.round(portal(np.arange(20_160.0))).tolist()
    heavy = parse_request({**body("sarima", values), "season_steps": 1_440})
    light = parse_request(body("auto", [3.0, 4.0, 3.0] * 30))
    began = time.monotonic()
    async with FitPool(1) as pool:
        fit = asyncio.create_task(pool.run(forecast_in_worker, heavy, budget_s=60))
        others = 0
        while not fit.done():
            answer(light)
            others += 1
            await asyncio.sleep(0.3)
        outcome = await fit
    assert time.monotonic() - began < 60
    assert others >= 3
    (forecast,) = outcome.value
    assert forecast.model == "sarima"
    assert forecast.reason.startswith("reduced form: Fourier terms")
    error = np.abs(forecast.mean - portal(np.arange(20_160.0, 20_220.0))).mean()
    assert error < 1.0  # the report asks for less than 10
