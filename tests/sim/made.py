"""Small workloads that the simulator's tests are told with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from prewarm.domain import FloatArray
from prewarm.sim.minute import MinuteWorkload
from prewarm.sim.requests import RequestFunction
from prewarm.sim.startup import ConstantStart, StartLaw


def workload(need: Sequence[Sequence[int]], *, share: float = 0.5, memory_gb: float = 0.1) -> MinuteWorkload:
    """A workload of these needs in which a needed instance is busy for `share` of the minute."""
    needed = np.asarray(need, dtype=np.int32)
    return MinuteWorkload(
        tuple(f"app/{row}" for row in range(len(needed))),
        needed * np.float64(share),
        needed,
        np.full(len(needed), memory_gb),
    )


def calls(
    arrival: Sequence[float] | FloatArray,
    service_s: float = 0.1,
    *,
    limit: int = 1,
    memory_gb: float = 0.25,
    start: StartLaw | None = None,
    key: str = "shop/checkout",
) -> RequestFunction:
    """A function with these calls, all of one length; instances start in a second unless told otherwise."""
    moments = np.asarray(arrival, dtype=np.float64)
    return RequestFunction(
        key, moments, np.full(len(moments), service_s), limit, memory_gb, start or ConstantStart(1.0)
    )


class Always:
    """A scaler that wants the same number at every tick."""

    def __init__(self, count: int) -> None:
        self.count = count

    def desired(self, now_s: float, observation: object) -> int:
        del now_s, observation
        return self.count

    def wake_s(self, now_s: float) -> float:
        return now_s + 2.0


class Plan:
    """A scaler that wants `counts[k]` from `moments[k]` on, and nothing before."""

    def __init__(self, steps: Sequence[tuple[float, int]]) -> None:
        self.steps = list(steps)

    def desired(self, now_s: float, observation: object) -> int:
        del observation
        return next((count for moment, count in reversed(self.steps) if moment <= now_s), 0)

    def wake_s(self, now_s: float) -> float:
        return now_s + 2.0


class Once(Always):
    """Wants one instance and, while nothing comes, is not asked again."""

    def __init__(self) -> None:
        super().__init__(1)

    def wake_s(self, now_s: float) -> float:
        del now_s
        return math.inf
