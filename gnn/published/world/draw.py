"""One run's world, put together from its parts by one seed.

The streams of the parts are apart, so that the same seed gives the same jobs, bursts and chains at every load, on every
fleet and with or without calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gnn.published.world.fleet import Fleet, published_fleet
from gnn.published.world.jobs import WEB_SHARE, Jobs, draw_backlog, draw_jobs
from gnn.published.world.web import CHAINS, WebPlan, base_rates, plan_web, steady_web
from prewarm.domain import IntArray

EVALUATION_SEEDS = tuple(range(10))
FAILURE_SEEDS = tuple(range(20))
FIRST_TRAINING_SEED = 1_000
CALLS_S, FAILURES_S, BACKLOG_S = 2_400.0, 14_400.0, 7_200.0
WARM_UP_S, BACKLOG_WARM_UP_S = 600.0, 1_800.0
STEP_AT_S, STEP_FACTOR = 1_200.0, 1.3
BACKLOG_DEPTH, BACKLOG_JOBS = 5, 8_000
_STREAMS = 4


class Regime(StrEnum):
    """What kind of run it is."""

    CALLS = "calls"
    FAILURES = "failures"
    BACKLOG = "backlog"
    STEP = "step"


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A run. lost: nodes that vanish at STEP_AT_S. depth: jobs that always wait, 0 where they come by themselves."""

    seed: int
    regime: Regime
    load: float
    fleet: Fleet
    web: WebPlan
    jobs: Jobs
    duration_s: float
    counted_from_s: float
    lost: IntArray
    depth: int = 0


def draw_world(regime: Regime, load: float, seed: int, fleet: Fleet | None = None) -> World:
    """The run of `seed` at an offered load (a share of all cores); training seeds begin at FIRST_TRAINING_SEED."""
    place = fleet or published_fleet()
    chains, bursts, work, loss = np.random.default_rng([515, seed]).spawn(_STREAMS)
    duration_s, counted_from_s = _times(regime)
    base = base_rates(load * WEB_SHARE * place.cores, chains.uniform(0.5, 1.5, CHAINS))
    step = (STEP_AT_S, STEP_FACTOR) if regime is Regime.STEP else None
    web = steady_web(base) if regime is Regime.FAILURES else plan_web(base, duration_s, bursts, step)
    if regime is Regime.BACKLOG:
        jobs, depth = draw_backlog(BACKLOG_JOBS, work), BACKLOG_DEPTH
    else:
        jobs, depth = draw_jobs(load * place.cores, duration_s, work), 0
    lost = _lost(place, loss) if regime is Regime.STEP else np.zeros(0, dtype=np.int64)
    return World(seed, regime, load, place, web, jobs, duration_s, counted_from_s, lost, depth)


def _times(regime: Regime) -> tuple[float, float]:
    return {
        Regime.CALLS: (CALLS_S, WARM_UP_S),
        Regime.STEP: (CALLS_S, WARM_UP_S),
        Regime.FAILURES: (FAILURES_S, 0.0),
        Regime.BACKLOG: (BACKLOG_S, BACKLOG_WARM_UP_S),
    }[regime]


def _lost(fleet: Fleet, rng: np.random.Generator) -> IntArray:
    """Two of the smallest nodes; on a fleet of one node, none."""
    small = np.flatnonzero(fleet.cpu == fleet.cpu.min())
    return np.sort(rng.permutation(small)[:2]) if fleet.nodes > 1 else np.zeros(0, dtype=np.int64)
