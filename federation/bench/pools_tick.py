"""What dividing one tick's totals over a fleet costs, all of it: snapshot in, plan by cluster out, reasons on demand.

Functions need an instance or more with chances like those of the service's ticks (most are idle, a few need many),
call from three regions, and are of the sizes of the pool benchmark. The second tick is measured, which starts from the
plan of the first; members' reports are new objects each time, so they are read again.
"""

from __future__ import annotations

import time

import numpy as np

from federation.bench.pools_world import SIZE_SHARE, SIZES_MIB
from federation.pools.split import LevelColumns
from federation.pools.tick.fleet_tick import FleetPlan, FleetTerms, plan_fleet
from federation.pools.tick.value import Callers
from federation.snapshot import Ages, Cluster, Links, MemberState, NodeClass, Nodes, Running, Snapshot, frozen
from prewarm.bench.result import Row
from prewarm.control import FleetState, TickDecisions, decide
from prewarm.domain import FunctionKey, Mode, PolicyTag
from prewarm.policy.columns import Measured, compile_policy
from prewarm.settings import FunctionPolicy

REGIONS = ("ap", "eu", "us")
NOW, STEP_S = 1_000_000.0, 60.0
NODES, NODE_MIB = 50, 1 << 18
IDLE = 0.6
MIB = 1 << 20


def fleet_tick_row(functions: int, clusters: int, seed: int) -> Row:
    """Seconds of the second tick, and what it did."""
    rng = np.random.default_rng([seed, functions, clusters])
    tick = _tick(functions, rng)
    callers = Callers(REGIONS, rng.gamma(0.5, 0.2, (functions, len(REGIONS))))
    first = plan_fleet(tick, _fleet(clusters, NOW, None), None, callers=callers, terms=FleetTerms(), now=NOW)
    now = NOW + STEP_S
    seen = _fleet(clusters, now, first)
    started = time.perf_counter()
    second = plan_fleet(tick, seen, first, callers=callers, terms=FleetTerms(), now=now)
    took = time.perf_counter() - started
    return {
        "functions": functions,
        "over clusters": clusters,
        "fleet tick s": took,
        "us per function": 1e6 * took / functions,
        "instances": int(second.answer.plan.sum()),
        "own pools": int(second.opened.split.sum()),
        "moved": second.answer.moved,
        "unplaced": int(second.answer.unplaced.sum()),
    }


def _tick(functions: int, rng: np.random.Generator) -> TickDecisions:
    keys = tuple(FunctionKey(f"team-{row % 50}/f-{row}") for row in range(functions))
    height = np.where(rng.random(functions) < IDLE, 1, np.minimum(rng.zipf(2.2, functions), 30))
    level = np.concatenate([np.arange(1, count + 1) for count in height])
    busy = np.repeat(height > 1, height)
    chance = np.where(busy, rng.beta(4.0, 1.0, len(level)), rng.beta(0.3, 6.0, len(level)))
    row = np.repeat(np.arange(functions, dtype=np.int32), height)
    falling = chance[np.lexsort((-chance, row))]
    state = FleetState(
        keys=keys,
        rows={key: at for at, key in enumerate(keys)},
        warm=np.zeros(functions, dtype=np.int32),
        data=np.zeros(functions, dtype=np.int32),
        data_age_s=np.full(functions, 5.0),
        lower_since=np.full(functions, np.nan),
    )
    memory = rng.choice(SIZES_MIB, functions, p=SIZE_SHARE).astype(np.float64)
    measured = Measured(memory, np.full(functions, 3.0))
    policy = compile_policy(keys, lambda _: FunctionPolicy(), measured, step_s=STEP_S, default_start_s=3.0)
    levels = LevelColumns(row, level.astype(np.int32), falling.astype(np.float32))
    tag = PolicyTag("bench", "1")
    return decide(state, policy.columns, levels=levels, overrides=(), now=NOW, mode=Mode.ACTIVE, tag=tag)


def _fleet(clusters: int, now: float, plan: FleetPlan | None) -> Snapshot:
    """Clusters of three regions; what was planned runs there."""
    names = tuple(f"c{number:03d}" for number in range(clusters))
    region = np.arange(clusters) % len(REGIONS)
    delay = np.where(region[:, None] == region[None, :], 5.0, 60.0)
    np.fill_diagonal(delay, 1.0)
    members = tuple(_member(name, column, now, plan) for column, name in enumerate(names))
    return Snapshot(now, members, Links(names, delay, np.full(delay.shape, np.nan)))


def _member(name: str, column: int, now: float, plan: FleetPlan | None) -> Cluster:
    held = np.zeros(0, dtype=np.int32) if plan is None else plan.answer.plan[:, column]
    keys = () if plan is None else plan.keys
    running = {str(keys[row]): Running(int(held[row]), int(held[row]), int(held[row])) for row in np.flatnonzero(held)}
    nodes = Nodes(
        resources=("cpu", "memory", "pods"),
        classes=(NodeClass(),),
        class_of=np.zeros(1, dtype=np.int32),
        count=np.array([NODES], dtype=np.int32),
        allocatable=np.array([[64_000, NODE_MIB * MIB, 1_000]], dtype=np.int64),
        requested=np.zeros((1, 3), dtype=np.int64),
        used=np.full((1, 2), np.nan),
        gpu_free=np.zeros((1, 0), dtype=np.int16),
        schedulable=np.ones(1, dtype=np.bool_),
    )
    return Cluster(
        name=name,
        context=name,
        state=MemberState.READY,
        since=0.0,
        nodes=nodes,
        region=REGIONS[column % len(REGIONS)],
        price=1.0 + 0.01 * (column % 7),
        running=frozen(running),
        ages=Ages(answer=now, nodes=now, pods=now),
    )
