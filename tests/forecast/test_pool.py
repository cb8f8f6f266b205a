"""Worker processes: warm, bounded, replaced when they die, and never in the way of who waits."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.forecast import pool as pool_module
from prewarm.forecast.pool import FitPool, Outcome, aged
from prewarm.forecast.stateless import Request, answer, parse_request
from tests.forecast.made import MONDAY

LIGHT = ("prewarm.forecast.stateless",)
PID = "__import__('os').getpid()"
LOADED = "'prewarm.forecast.models' in __import__('sys').modules"


@pytest.fixture
async def pool() -> AsyncIterator[FitPool]:
    async with FitPool(1, preload=LIGHT) as running:
        yield running


async def test_work_is_done_elsewhere_by_a_worker_that_stays_warm(pool: FitPool) -> None:
    first = await pool.run(eval, PID, budget_s=20)
    second = await pool.run(eval, PID, budget_s=20)
    assert first.status == "done"
    assert first.value == second.value != os.getpid()
    assert (await pool.run(abs, -21, budget_s=20)).value == 21
    assert (await pool.run(eval, LOADED, budget_s=20)).value is True
    assert pool.replaced == 0


async def test_a_worker_calculates_in_one_thread_and_the_service_keeps_its_own_setting(pool: FitPool) -> None:
    before = os.environ.get("OMP_NUM_THREADS")
    outcome = await pool.run(os.getenv, "OMP_NUM_THREADS", budget_s=20)
    assert outcome.value == "1"
    assert os.environ.get("OMP_NUM_THREADS") == before


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="this system knows no class for idle time")
@pytest.mark.parametrize("spare", [False, True], ids=["nice", "spare"])
async def test_work_that_nobody_waits_for_takes_only_idle_time(spare: bool) -> None:
    async with FitPool(1, preload=LIGHT, spare=spare) as running:
        outcome = await running.run(os.sched_getscheduler, 0, budget_s=20)
    assert outcome.value == (os.SCHED_IDLE if spare else os.SCHED_OTHER)
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


async def test_a_pool_can_be_left_where_a_loop_that_ends_cancels_all_there_is() -> None:
    def renewing() -> list[asyncio.Task[object]]:
        return [task for task in asyncio.all_tasks() if "_renewed" in repr(task.get_coro())]

    async with asyncio.timeout(20), FitPool(1, preload=LIGHT) as running:
        await running.run(abs, -1, budget_s=20)
        asked = asyncio.create_task(running.run(time.sleep, 60, budget_s=60))
        await asyncio.sleep(0.1)
        asked.cancel()
        while not (ending := renewing()):  # noqa: ASYNC110  a task of the pool's own, which nobody announces
            await asyncio.sleep(0)
        for task in ending:
            task.cancel()
        await asyncio.wait({asked})
    assert asked.cancelled()


async def test_a_worker_that_nobody_waits_for_any_more_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    before, began = set(multiprocessing.active_children()), threading.Event()

    class Slow(pool_module._Worker):
        def __init__(self, preload: Sequence[str], spare: bool) -> None:
            began.set()
            time.sleep(0.2)
            super().__init__(preload, spare)

    monkeypatch.setattr(pool_module, "_Worker", Slow)
    entering = asyncio.create_task(FitPool(1, preload=LIGHT).__aenter__())
    await asyncio.to_thread(began.wait)
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    await asyncio.sleep(0.4)  # a process that nobody owns would be starting now
    assert set(multiprocessing.active_children()) == before


async def test_a_refusal_comes_back_as_an_outcome(pool: FitPool) -> None:
    outcome = await pool.run(parse_request, [], budget_s=20)
    assert outcome == Outcome("failed", None, "body: must be an object, is a list of 0")
    assert pool.replaced == 0


@pytest.mark.parametrize("work", ["__import__('os')._exit(3)", "1 / 0"], ids=["exit", "exception"])
async def test_a_dead_worker_is_replaced(pool: FitPool, work: str) -> None:
    outcome = await pool.run(eval, work, budget_s=20)
    assert outcome == Outcome("died", None, "the worker process died")
    assert (await pool.run(abs, -1, budget_s=20)).value == 1
    assert pool.replaced == 1


async def test_where_no_process_is_to_be_had_the_next_who_asks_tries_again(
    pool: FitPool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The place is not lost with its worker, or whoever asks later, and the end of the service, would wait for ever."""

    def refused(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patched:
        patched.setattr("multiprocessing.context.SpawnProcess.start", refused)
        dead = await pool.run(eval, "__import__('os')._exit(3)", budget_s=20)
        none = await pool.run(abs, -1, budget_s=20)
    assert dead == Outcome("died", None, "the worker process died")
    assert none == Outcome("died", None, "no process is to be had")
    assert "no process for a worker" in caplog.text
    assert (await pool.run(abs, -1, budget_s=20)).value == 1
    assert pool.replaced == 1


async def test_over_its_budget_a_fit_is_ended_and_the_next_one_served(pool: FitPool) -> None:
    await pool.run(abs, -1, budget_s=20)
    began = time.monotonic()
    outcome = await pool.run(time.sleep, 60, budget_s=0.2)
    assert time.monotonic() - began < 5
    assert (outcome.status, outcome.reason) == ("over budget", "over its budget of 0.2 s")
    assert (await pool.run(abs, -1, budget_s=20)).value == 1


async def test_a_cancelled_fit_frees_its_place(pool: FitPool) -> None:
    await pool.run(abs, -1, budget_s=20)
    task = asyncio.create_task(pool.run(time.sleep, 60, budget_s=60))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await pool.run(abs, -3, budget_s=20)).value == 3


async def test_the_loop_runs_on_while_a_worker_works(pool: FitPool) -> None:
    await pool.run(abs, -1, budget_s=20)
    task = asyncio.create_task(pool.run(time.sleep, 0.5, budget_s=20))
    ticks = 0
    while not task.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks > 15


async def test_more_than_can_wait_are_turned_away() -> None:
    async with FitPool(1, preload=LIGHT, waiting_most=1) as pool:
        tasks = [asyncio.create_task(pool.run(time.sleep, 0.2, budget_s=20)) for _ in range(3)]
        statuses = sorted([(await task).status for task in tasks])
    assert statuses == ["busy", "done", "done"]


LEAVES = """
import asyncio, os
from prewarm.forecast.pool import FitPool

async def leave():
    async with FitPool(1, preload=("prewarm.forecast.stateless",)):
        os._exit(0)

if __name__ == "__main__":
    asyncio.run(leave())
"""


def test_a_worker_whose_service_is_killed_goes_without_a_word(tmp_path: Path) -> None:
    script = tmp_path / "leaves.py"
    script.write_text(LEAVES)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pool_without_workers_is_refused() -> None:
    with pytest.raises(InputError, match="1 worker or more"):
        FitPool(0)


def request(length: int = 40, *, model: str = "arima") -> Request:
    values = (10 + np.random.default_rng(1).normal(0, 1, length)).tolist()
    return parse_request(
        {
            "series": [{"id": "shop/cart", "step_s": 60, "start": "2026-01-05T00:00:00Z", "values": values}],
            "model": model,
            "steps": 30,
        }
    )


@pytest.mark.parametrize(("passed_s", "first"), [(0, 0), (59, 0), (60, 1), (29 * 60, 29)])
def test_an_aged_forecast_drops_the_steps_that_are_past(passed_s: int, first: int) -> None:
    (forecast,) = answer(request(model="smoothing"))
    rising = replace(forecast, mean=np.arange(30.0))
    found = aged(rising, forecast.issued_at + passed_s, "why not")
    assert found is not None
    assert found.mean[0] == first
    assert found.mean[-1] == 29
    assert len(found.mean) == 30
    assert found.issued_at == forecast.issued_at + 60 * first
    assert forecast.issued_at == MONDAY + 40 * 60


def test_a_forecast_that_is_all_past_or_yet_to_come_serves_no_more() -> None:
    (forecast,) = answer(request(model="smoothing"))
    assert aged(forecast, forecast.issued_at + 30 * 60, "") is None
    assert aged(forecast, forecast.issued_at - 60, "") is None
