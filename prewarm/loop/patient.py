"""A worker pool that nobody has to wait for: while its worker loads, work is answered with a reason at once.

A learned model takes seconds to load, at the start and after its worker died. Ticks must not wait for that; they take
the plain rule, which says why, and the first tick after the model is ready is the model's again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from prewarm.forecast.live import warm_up
from prewarm.forecast.pool import FitPool, Outcome
from prewarm.loop.oracle import PRELOAD

LOADING = "the learned model is still loading"
LOAD_S = 120.0
AGAIN_S = 30.0
"""Pause between attempts to load a model that cannot be loaded."""


class PatientPool(FitPool):
    """A pool of one worker; `warm_up` (with `argument`) is what has to succeed before it is asked anything."""

    def __init__(self, preload: Sequence[str], warm_up: Callable[[Any], Any], argument: Any) -> None:
        super().__init__(1, preload=preload)
        self._warm_up = (warm_up, argument)
        self._loading: asyncio.Task[Outcome] | None = None
        self._again_at = 0.0
        self.why = LOADING

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._load()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait({self._loading})
        await super().__aexit__(kind, error, trace)

    async def run(self, work: Callable[[Any], Any], argument: Any, *, budget_s: float) -> Outcome:
        """As the pool does, but never waits for a worker that is loading; after a failure it loads anew."""
        if self._loading is not None and not self._is_loaded(self._loading):
            return Outcome("busy", None, self.why)
        outcome = await super().run(work, argument, budget_s=budget_s)
        if outcome.status in ("died", "over budget"):
            self.why = f"{outcome.reason}; the learned model is loading again"
            self._load()
        return outcome

    def _is_loaded(self, loading: asyncio.Task[Outcome]) -> bool:
        if not loading.done():
            return False
        loaded = loading.result()
        if loaded.status == "done":
            self._loading = None
            return True
        self.why = f"the learned model cannot be loaded: {loaded.reason}"
        if asyncio.get_running_loop().time() >= self._again_at:
            self._load()
        return False

    def _load(self) -> None:
        work, argument = self._warm_up
        self._again_at = asyncio.get_running_loop().time() + AGAIN_S
        self._loading = asyncio.create_task(super().run(work, argument, budget_s=LOAD_S), name="load-model")


def model_pool() -> PatientPool:
    """The process that holds the learned model, asked once about a tiny history before it counts as ready."""
    return PatientPool(PRELOAD, warm_up, None)
