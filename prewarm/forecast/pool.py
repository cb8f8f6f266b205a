"""Worker processes for what is too slow or too heavy for the service's own process.

Workers are spawned, import their libraries once and then wait: the service never loads statsmodels. Each piece of work
has a budget of seconds; a worker that overruns it, dies or is cancelled is killed and replaced, and whoever asked gets
an outcome that says so instead of an exception. Meanwhile the last good forecast keeps serving (`aged`), its age and
the reason for it in its text.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from prewarm.domain import Forecast, InputError, PrewarmError
from prewarm.forecast.stateless import Request, answer

log = logging.getLogger("prewarm.forecast")

PRELOAD = ("statsmodels.tsa.api", "prewarm.forecast.stateless")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
START_S = 60.0  # a worker that is not ready by then is given up
Status = Literal["done", "failed", "over budget", "died", "busy"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a piece of work: its value when done, else None and a reason for people."""

    status: Status
    value: Any
    reason: str


def _serve(connection: Connection, preload: Sequence[str], spare: bool) -> None:
    """A worker's life: load, say so, then answer one question after another until the other side hangs up.

    Refusals (PrewarmError) travel back; any other exception ends the worker, which the pool notices and repairs.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)
    for name in preload:
        import_module(name)
    if spare:  # not before: who starts may be given up for being slow
        _take_spare_time()
    with suppress(EOFError, ConnectionError):  # the service is gone; nobody is left to be told
        connection.send("ready")
        while True:
            work, argument = connection.recv()
            try:
                connection.send((True, work(argument)))
            except PrewarmError as error:
                connection.send((False, str(error)))


def _take_spare_time() -> None:
    """Run only while nobody else wants the processor, and leave it at once.

    However nice, a process keeps a processor for its slice, so whoever wakes beside it waits some milliseconds at each
    of the steps between a request and its answer.
    """
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started within inherit single-threaded linear algebra.

    On busy cores threads that wait for each other made a fit ten times slower; the libraries read these variables
    when they are loaded, which in a spawned process is before any of our lines run.
    """
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _Worker:
    """One process and the pipe to it; every method blocks, so the pool calls them from threads."""

    def __init__(self, preload: Sequence[str], spare: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        told = (other, tuple(preload), spare)
        self._process = context.Process(target=_serve, args=told, daemon=True, name="prewarm-fit")
        with _one_thread_each():
            self._process.start()
        other.close()
        self._ready = False

    def wait_ready(self) -> None:
        if not self._ready:
            self._pipe.recv()
            self._ready = True

    def ask(self, work: Callable[[Any], Any], argument: Any) -> tuple[bool, Any]:
        self._pipe.send((work, argument))
        good, value = self._pipe.recv()
        return bool(good), value

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()


class FitPool:
    """An async context manager that owns `workers` processes; at most `waiting_most` pieces of work wait for one.

    spare: they take only processor time that nobody else wants, for work whose end nobody waits for.
    """

    def __init__(
        self, workers: int = 1, *, preload: Sequence[str] = PRELOAD, waiting_most: int = 64, spare: bool = False
    ) -> None:
        if workers < 1:
            raise InputError("pool: needs 1 worker or more")
        self._count, self._waiting_most = workers, waiting_most
        self._preload, self._spare = tuple(preload), spare
        self._idle: asyncio.Queue[_Worker | None] = asyncio.Queue()  # None: a place for which no process could be had
        self._waiting = 0
        self.replaced = 0

    async def __aenter__(self) -> Self:
        try:
            for _ in range(self._count):
                self._idle.put_nowait(await self._started())
        except BaseException:  # nobody leaves what was not entered
            while not self._idle.empty():
                if (worker := self._idle.get_nowait()) is not None:
                    worker.close()
            raise
        return self

    async def _started(self) -> _Worker:
        """A worker; one whose start nobody waits for any more is ended when it is there."""
        starting = asyncio.get_running_loop().run_in_executor(None, _Worker, self._preload, self._spare)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.wait({starting})
            if starting.exception() is None:
                await asyncio.to_thread(starting.result().close)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _ in range(self._count):
            if (worker := await self._idle.get()) is not None:
                await asyncio.to_thread(worker.close)

    async def run(self, work: Callable[[Any], Any], argument: Any, *, budget_s: float) -> Outcome:
        """`work(argument)` in a worker; `work` is a module-level function. The budget starts when a worker has it."""
        if self._waiting >= self._waiting_most:
            return Outcome("busy", None, f"{self._waiting} fits are waiting already")
        self._waiting += 1
        try:
            worker = await self._idle.get()
        finally:
            self._waiting -= 1
        kept = False
        try:
            if worker is None and (worker := await self._another()) is None:
                return Outcome("died", None, "no process is to be had")
            ready = await self._within(worker, worker.wait_ready, START_S)
            outcome = ready if ready.status != "done" else await self._asked(worker, work, argument, budget_s)
            kept = outcome.status in ("done", "failed")
            if not kept:
                log.warning("a worker is replaced", extra={"why": outcome.reason})
            return outcome
        finally:
            renewing = asyncio.ensure_future(self._renewed(worker, kept))
            renewing.add_done_callback(self._put_back)
            await asyncio.shield(renewing)

    async def _asked(self, worker: _Worker, work: Callable[[Any], Any], argument: Any, budget_s: float) -> Outcome:
        outcome = await self._within(worker, lambda: worker.ask(work, argument), budget_s)
        if outcome.status != "done":
            return outcome
        good, value = outcome.value
        return Outcome("done", value, "done") if good else Outcome("failed", None, str(value))

    async def _within(self, worker: _Worker, blocking: Callable[[], Any], budget_s: float) -> Outcome:
        """The blocking call in a thread; killing the worker is what ends a call that takes too long."""
        task = asyncio.ensure_future(asyncio.to_thread(blocking))
        try:
            done, _ = await asyncio.wait({task}, timeout=budget_s)
        except asyncio.CancelledError:
            worker.kill()
            await asyncio.wait({task})
            task.exception()
            raise
        if not done:
            worker.kill()
            await asyncio.wait({task})
            task.exception()
            return Outcome("over budget", None, f"over its budget of {budget_s:g} s")
        error = task.exception()
        if isinstance(error, EOFError | OSError):
            return Outcome("died", None, "the worker process died")
        return Outcome("done", task.result(), "done")

    def _put_back(self, renewing: asyncio.Future[_Worker | None]) -> None:
        """Give the place back, an empty one where a loop that ends cancelled that: leaving waits for every place."""
        failed = renewing.cancelled() or renewing.exception() is not None
        self._idle.put_nowait(None if failed else renewing.result())

    async def _renewed(self, worker: _Worker | None, kept: bool) -> _Worker | None:
        """Another worker where this one is not kept; an empty place stays empty."""
        if kept or worker is None:
            return worker
        await asyncio.to_thread(worker.close)
        return await self._another()

    async def _another(self) -> _Worker | None:
        """A worker in place of one that is gone; None where the machine has no process for it, which whoever asks next
        tries again.
        """
        try:
            worker = await asyncio.to_thread(_Worker, self._preload, self._spare)
        except OSError as error:
            log.warning("no process for a worker", extra={"why": str(error)})
            return None
        self.replaced += 1
        return worker


def forecast_in_worker(request: Request) -> tuple[Forecast, ...]:
    """The work that is sent to a worker."""
    return answer(request)


def aged(forecast: Forecast, now: float, why: str) -> Forecast | None:
    """An earlier forecast read at `now`: past steps dropped, the last one repeated; None when all are past."""
    passed = int((now - forecast.issued_at) // forecast.step_s)
    steps = len(forecast.mean)
    if not 0 <= passed < steps:
        return None
    at = np.minimum(np.arange(passed, passed + steps), steps - 1)
    return replace(
        forecast,
        issued_at=forecast.issued_at + passed * forecast.step_s,
        reason=f"{forecast.model} of {now - forecast.issued_at:.0f} s ago still serves: {why}",
        mean=forecast.mean[at],
        quantiles=forecast.quantiles[at],
        p_at_least=forecast.p_at_least[at],
    )
