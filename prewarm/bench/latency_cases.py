"""The runs behind `prewarm bench latency`: one promotion under Knative's rule and under ours, three ways of knowing.

Announced: a window in the settings says how many instances are wanted from when. Repeating: yesterday's counts hold the
same promotion, up to half a minute earlier or later. Unannounced: nothing but the calls themselves. All runs of a case
see the same calls and the same draws of start-up times.
"""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.local.peaks import RepeatedPeaks
from prewarm.forecast.local.smoothing import Smoothing
from prewarm.policy.columns import Measured, PolicyTable, compile_policy
from prewarm.policy.replicas import ReplicaSpec, ReplicaState, size_replicas
from prewarm.settings import FunctionPolicy, Window
from prewarm.sim.cluster import simulate
from prewarm.sim.kpa import KpaScaler, KpaSettings
from prewarm.sim.load_scaler import LoadPlan, LoadScaler, MinuteForecasts
from prewarm.sim.promotion import Promotion, floor_wait_s
from prewarm.sim.requests import TIMEOUT_S, ClusterSettings, Outcome, RequestFunction
from prewarm.sim.scalers import Scaler
from prewarm.sim.startup import StartLaw

KEY = "shop/promotion"
MONDAY_S = 1_767_571_200.0  # 2026-01-05T00:00:00Z, the midnight at which every run's clock is 0
STARTS_S = 600.0  # the promotion begins ten minutes into the run, at a whole minute
LENGTH_S = 240.0
MEMORY_GB = 0.256
DOWN_DELAY_S = 60.0  # Knative's stable window, so that both let go equally late
YESTERDAY_OFF_S = 30.0
KNOWN = ("announced", "repeating", "unannounced")
SETTLED_S = 1e-6
FLOOR_DRAWS = 2_000


@dataclass(frozen=True, slots=True)
class PromotionCase:
    """One promotion on one kind of cluster."""

    ramp_s: float
    concurrency_limit: int
    starts_per_s: float | None
    start: StartLaw

    @property
    def promotion(self) -> Promotion:
        """The load."""
        return Promotion(
            ramp_s=self.ramp_s, start_s=STARTS_S, length_s=LENGTH_S, concurrency_limit=self.concurrency_limit
        )


@dataclass(frozen=True, slots=True)
class CaseRuns:
    """Outcomes of one case: `arrival` (calls,) s; `cold` (calls,) which found no free slot under Knative's rule.

    runs: by `kpa`, `announced`, `repeating`, `unannounced`; floor_s: (calls,) least wait when nothing was announced,
    None without a limit on the start rate.
    """

    case: PromotionCase
    arrival: FloatArray
    cold: np.ndarray[tuple[int], np.dtype[np.bool_]]
    runs: dict[str, Outcome]
    floor_s: FloatArray | None

    def cold_path_ms(self, name: str) -> FloatArray:
        """Waiting of the cold calls under a run, ms; a time-out counts whole."""
        return 1000.0 * np.minimum(self.runs[name].wait_s[self.cold], TIMEOUT_S)


def run_case(case: PromotionCase, *, seed: int) -> CaseRuns:
    """Run Knative's rule and ours, announced, repeating and unannounced."""
    promotion = case.promotion
    arrival = promotion.arrivals(np.random.default_rng([seed, 1]))
    service = np.full(len(arrival), promotion.service_s)
    function = RequestFunction(KEY, arrival, service, case.concurrency_limit, MEMORY_GB, case.start)
    settings = ClusterSettings(promotion.end_s, starts_per_s=case.starts_per_s)
    chosen: dict[str, Scaler] = {
        "kpa": KpaScaler(KpaSettings(case.concurrency_limit)),
        "announced": LoadScaler(_plan(case, announced=True)),
        "repeating": LoadScaler(_plan(case), MinuteForecasts(_forecaster(), _yesterday(case, seed), MONDAY_S)),
        "unannounced": LoadScaler(_plan(case)),
    }
    runs = {
        name: simulate([function], [scaler], settings, rng=np.random.default_rng([seed, 2]))[0]
        for name, scaler in chosen.items()
    }
    floor_s = None
    if case.starts_per_s is not None:
        draws = case.start.draw(np.random.default_rng([seed, 3]), FLOOR_DRAWS)
        floor_s = floor_wait_s(arrival, promotion, start_s=draws, starts_per_s=case.starts_per_s)
    return CaseRuns(case, arrival, runs["kpa"].wait_s > SETTLED_S, runs, floor_s)


def _spec(case: PromotionCase) -> ReplicaSpec:
    return ReplicaSpec(case.promotion.service_s, case.concurrency_limit)


def _plan(case: PromotionCase, *, announced: bool = False) -> LoadPlan:
    return LoadPlan(_table(case, announced=announced), _spec(case), case.start, case.starts_per_s, MONDAY_S)


def _table(case: PromotionCase, *, announced: bool) -> PolicyTable:
    """Settings of the one function; the announcement is a window with a minimum, as a service owner writes it."""
    wanted = size_replicas(case.promotion.peak_per_s, ReplicaState(0), _spec(case)).count
    window = Window(start_minute=int(STARTS_S // 60), end_minute=int(STARTS_S // 60) + 30, min=wanted)
    policy = FunctionPolicy(windows=(window,) if announced else (), down_delay_s=DOWN_DELAY_S)
    measured = Measured(np.array([MEMORY_GB * 1000.0]), np.array([case.start.quantile(0.5)]))
    return compile_policy([KEY], lambda _: policy, measured, step_s=60.0, default_start_s=2.0)


def _forecaster() -> RepeatedPeaks:
    return RepeatedPeaks(Smoothing(trend=False), ZoneInfo("UTC"))


def _yesterday(case: PromotionCase, seed: int) -> FloatArray:
    """Counts per minute of the day before: the same promotion with other draws, shifted by up to half a minute."""
    rng = np.random.default_rng([seed, 4])
    arrival = case.promotion.arrivals(rng)
    return case.promotion.minute_counts(arrival + rng.uniform(-YESTERDAY_OFF_S, YESTERDAY_OFF_S))
