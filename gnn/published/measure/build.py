"""A simulator made ready for one world: its record filled, the first replicas and the jobs that run already in line."""

from __future__ import annotations

from functools import cache

import numpy as np

from gnn.published.kernel import layout
from gnn.published.kernel.advance import begin
from gnn.published.rules.future import fill_table, typical_pods
from gnn.published.world.draw import STEP_AT_S, Regime, World
from gnn.published.world.jobs import START_CV, START_S
from gnn.published.world.laws import quantiles
from gnn.published.world.web import SERVICE_CV, SERVICE_S
from prewarm.domain import FloatArray, InputError

_TARGET_LOAD = 0.4
_JOB_FIELDS = ("arrive", "job_cpu", "job_memory", "job_pods", "run_s", "start_s")


def build(world: World) -> layout.State:
    """The state at time 0, with everything waiting to be placed."""
    if len(world.jobs) > layout.JOBS_AT_MOST:
        raise InputError(f"load {world.load:g}: {len(world.jobs)} jobs in a run; at most {layout.JOBS_AT_MOST}")
    state = np.zeros(1, dtype=layout.LAYOUT)
    sim = state[0]
    _fill_fleet(sim, world)
    _fill_work(sim, world)
    for name, table in _tables().items():
        sim[name][:] = table
    sim["seed"][:] = world.seed
    sim["f"][layout.FROM] = world.counted_from_s
    sim["f"][layout.TARGET_LOAD] = _TARGET_LOAD
    sim["f"][layout.LOST_AT] = STEP_AT_S
    sim["i"][layout.ASKED] = -1
    sim["i"][layout.CALLS_ON] = world.regime in (Regime.CALLS, Regime.STEP)
    sim["free"][:] = np.arange(layout.CALL_SLOTS)[::-1]
    sim["cn"][layout.UNUSED] = layout.CALL_SLOTS
    sim["cf"][layout.NEXT :] = np.inf
    begin(state)
    return state


def _fill_fleet(sim: np.void, world: World) -> None:
    fleet = world.fleet
    nodes, clusters = slice(fleet.nodes), slice(fleet.clusters)
    for name, values in (
        ("cpu", fleet.cpu),
        ("memory", fleet.memory_gb),
        ("cluster", fleet.cluster),
        ("free_cpu", fleet.cpu),
        ("free_memory", fleet.memory_gb),
        ("alive", np.ones(fleet.nodes, dtype=np.int64)),
    ):
        sim[name][nodes] = values
    sim["delay_s"][clusters, clusters] = fleet.delay_s
    sim["count"][[layout.NODES, layout.CLUSTERS]] = fleet.nodes, fleet.clusters


def _fill_work(sim: np.void, world: World) -> None:
    for name, values in zip(_JOB_FIELDS, world.jobs.columns, strict=True):
        sim[name][: len(values)] = values
    rows = len(world.web.since_s)
    sim["since"][:rows] = world.web.since_s
    sim["rates"][:rows] = world.web.rates
    sim["lost"][: len(world.lost)] = world.lost
    amounts = {layout.JOBS: len(world.jobs), layout.RATES: rows, layout.VANISHING: len(world.lost)}
    for column, amount in {**amounts, layout.DEPTH: world.depth}.items():
        sim["count"][column] = amount


@cache
def _tables() -> dict[str, FloatArray]:
    return {
        "types": typical_pods(),
        "fill": fill_table(layout.FILL_CPU, layout.FILL_GB),
        "start_table": quantiles(layout.START_PARTS, mean=START_S, cv=START_CV),
        "service_table": quantiles(layout.SERVICE_PARTS, mean=SERVICE_S, cv=SERVICE_CV),
    }
