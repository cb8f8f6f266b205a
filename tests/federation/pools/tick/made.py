"""Ticks and fleets for tests of the fleet's part of a tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from federation.pools.split import LevelColumns
from federation.pools.tick.value import Callers
from federation.snapshot import Ages, Cluster, Links, MemberState, NodeClass, Nodes, Running, Snapshot, frozen
from prewarm.control import FleetState, TickDecisions, decide
from prewarm.domain import Action, FunctionKey, Mode, Override, PolicyTag
from prewarm.policy.columns import Measured, compile_policy
from prewarm.settings import Call, FunctionPolicy

NOW = 1_000_000.0
MIB = 1 << 20


def tick_of(
    chances: Sequence[Sequence[float]],
    *,
    warm: Sequence[int] | None = None,
    memory_mib: float = 100.0,
    entry: FunctionPolicy | None = None,
    overrides: Sequence[Override] = (),
    now: float = NOW,
    stale: Sequence[bool] | None = None,
) -> TickDecisions:
    """A tick of functions shop/f0, shop/f1, ... whose P(N >= 1), P(N >= 2), ... are listed."""
    n = len(chances)
    keys = tuple(FunctionKey(f"shop/f{row}") for row in range(n))
    height = [len(levels) for levels in chances]
    levels = LevelColumns(
        np.repeat(np.arange(n, dtype=np.int32), height),
        np.array([level + 1 for count in height for level in range(count)], dtype=np.int32),
        np.array([p for levels in chances for p in levels], dtype=np.float32),
    )
    state = FleetState(
        keys=keys,
        rows={key: row for row, key in enumerate(keys)},
        warm=np.array(warm if warm is not None else [0] * n, dtype=np.int32),
        data=np.array([2 if late else 0 for late in (stale or [False] * n)], dtype=np.int32),
        data_age_s=np.full(n, 10.0),
        lower_since=np.full(n, np.nan),
    )
    measured = Measured(np.full(n, memory_mib), np.full(n, 2.0))
    policy = compile_policy(keys, lambda _: entry or FunctionPolicy(), measured, step_s=60, default_start_s=2.0)
    tag = PolicyTag("prewarm", "1")
    return decide(state, policy.columns, levels=levels, overrides=overrides, now=now, mode=Mode.SHADOW, tag=tag)


def sure(*totals: int) -> list[list[float]]:
    """Chances of functions that need exactly so many instances."""
    return [[1.0] * total for total in totals]


def member(
    name: str,
    *,
    free_mib: Sequence[int] = (10_000,),
    state: MemberState = MemberState.READY,
    since: float = 0.0,
    running: Mapping[str, Running] | None = None,
    price: float = 1.0,
    region: str | None = None,
    seen: float | None = NOW,
) -> Cluster:
    """A cluster of nodes with this much free memory each."""
    m = len(free_mib)
    nodes = Nodes(
        resources=("cpu", "memory", "pods"),
        classes=(NodeClass(),),
        class_of=np.zeros(m, dtype=np.int32),
        count=np.ones(m, dtype=np.int32),
        allocatable=np.array([[64_000, free * MIB, 500] for free in free_mib], dtype=np.int64).reshape(m, 3),
        requested=np.zeros((m, 3), dtype=np.int64),
        used=np.full((m, 2), np.nan),
        gpu_free=np.zeros((m, 0), dtype=np.int16),
        schedulable=np.ones(m, dtype=np.bool_),
    )
    return Cluster(
        name=name,
        context=name,
        state=state,
        since=since,
        nodes=nodes,
        region=region,
        price=price,
        running=frozen(running),
        ages=Ages(answer=seen, nodes=seen, pods=seen),
    )


def fleet(*members: Cluster, delay_ms: float = 40.0, calls: tuple[Call, ...] = (), at: float = NOW) -> Snapshot:
    """The members, all equally far from each other."""
    names = tuple(one.name for one in members)
    delay = np.full((len(names), len(names)), delay_ms)
    np.fill_diagonal(delay, 1.0)
    return Snapshot(at, members, Links(names, delay, np.full(delay.shape, 1_000.0)), calls)


def calls_from(regions: Sequence[str], *rates: Sequence[float]) -> Callers:
    """Calls per second of each function from each region."""
    return Callers(tuple(regions), np.array(rates, dtype=np.float64).reshape(len(rates), len(regions)))


def said(action: Action, cluster: str | None, value: int | None = None, *, row: int = 0) -> Override:
    """A person's word on a function, for good."""
    return Override(FunctionKey(f"shop/f{row}"), cluster, action, value, "ann", "launch", NOW - 10, None)
