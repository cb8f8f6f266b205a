"""A pool that loads is never waited for, and one whose worker died loads again while the rule decides."""

from __future__ import annotations

import asyncio
import math
import os
import time

from prewarm.forecast.pool import Outcome
from prewarm.loop.patient import LOADING, PatientPool


async def until_done(pool: PatientPool) -> Outcome:
    """Ask until the worker answers."""
    while True:
        outcome = await pool.run(math.sqrt, 49.0, budget_s=5.0)
        if outcome.status == "done":
            return outcome
        await asyncio.sleep(0.05)


async def test_while_it_loads_the_answer_is_busy_at_once() -> None:
    async with PatientPool((), time.sleep, 0.5) as pool:
        started = time.perf_counter()
        outcome = await pool.run(math.sqrt, 49.0, budget_s=5.0)
        assert time.perf_counter() - started < 0.2
        assert (outcome.status, outcome.reason) == ("busy", LOADING)
        assert (await until_done(pool)).value == 7.0


async def test_after_a_death_it_says_so_and_comes_back() -> None:
    async with PatientPool((), time.sleep, 0.2) as pool:
        await until_done(pool)
        assert (await pool.run(os._exit, 9, budget_s=5.0)).status == "died"
        busy = await pool.run(math.sqrt, 49.0, budget_s=5.0)
        assert (busy.status, busy.reason) == ("busy", "the worker process died; the learned model is loading again")
        assert (await until_done(pool)).value == 7.0


async def test_what_cannot_be_loaded_is_told_and_not_tried_all_the_time() -> None:
    async with PatientPool((), os._exit, 9) as pool:
        reasons = set()
        for _ in range(60):
            reasons.add((await pool.run(math.sqrt, 49.0, budget_s=5.0)).reason)
            await asyncio.sleep(0.05)
        assert reasons <= {LOADING, "the learned model cannot be loaded: the worker process died"}
        assert len(reasons) == 2
        assert pool.replaced == 1
