"""The hybrid histogram policy (Serverless in the Wild, ATC'20) behind the protocol of minute policies.

The rule itself, with its ARIMA branch, is prewarm.forecast.local.hybrid; it loads statsmodels and is imported late.
"""

from __future__ import annotations

from dataclasses import dataclass

from prewarm.domain import Int32Array
from prewarm.sim.minute import MinuteWorkload, Progress


@dataclass(frozen=True, slots=True)
class HybridHistogramPolicy:
    """`hh-1h` and `hh-4h`: the policy with a histogram of `range_minutes`."""

    range_minutes: int
    name: str

    def allocations(self, workload: MinuteWorkload, *, progress: Progress | None = None) -> Int32Array:
        """Warm instances (n, T), by the published rule."""
        from prewarm.forecast.local.hybrid import HybridHistogram

        def told(done: int, minutes: int) -> None:
            if progress is not None:
                progress(done / minutes)

        return HybridHistogram(self.range_minutes).allocations(workload.need, progress=told)
