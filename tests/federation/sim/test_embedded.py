"""The embedded fleet in the service's own rows, over a day of the world's calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from federation.pools.split import LevelColumns
from federation.pools.tick.fleet_tick import FleetPlan, FleetTerms, plan_fleet
from federation.pools.tick.records import changed
from federation.sim.embedded import EmbeddedFleet
from prewarm.control import FleetState, TickDecisions, decide
from prewarm.domain import FloatArray, FunctionKey, Int32Array, IntArray, Mode, PolicyTag
from prewarm.policy.columns import Measured, compile_policy
from prewarm.settings import FunctionPolicy
from prewarm.sim.world_calls import DAY_MIN, day_counts, population


@dataclass(frozen=True)
class Lived:
    """A fleet that lived for a while: its last plan, wrong totals, (wanted, ready) by tick, records made."""

    fleet: EmbeddedFleet
    last: FleetPlan
    wrong: list[int]
    stood: list[tuple[int, int]]
    records: int


SEED, DAY = 1, 20_001
PEOPLE = population(SEED, 60)


def tick_for(
    keys: tuple[FunctionKey, ...], total: Int32Array | IntArray, warm: Int32Array, now: float
) -> TickDecisions:
    """A tick that decides these totals."""
    n = len(keys)
    counts = total.astype(np.int64)
    level = np.concatenate([np.arange(1, count + 1) for count in counts]) if counts.sum() else np.zeros(0)
    levels = LevelColumns(
        np.repeat(np.arange(n, dtype=np.int32), counts), level.astype(np.int32), np.ones(len(level), dtype=np.float32)
    )
    state = FleetState(
        keys=keys,
        rows={key: row for row, key in enumerate(keys)},
        warm=warm,
        data=np.zeros(n, dtype=np.int32),
        data_age_s=np.full(n, 5.0),
        lower_since=np.full(n, np.nan),
    )
    known = {key: row for row, key in enumerate(PEOPLE.keys)}
    memory = np.array([PEOPLE.memory_mib[known[key]] if key in known else 128.0 for key in keys])
    policy = compile_policy(
        keys, lambda _: FunctionPolicy(), Measured(memory, np.full(n, 3.0)), step_s=60, default_start_s=3.0
    )
    tag = PolicyTag("prewarm", "1")
    return decide(state, policy.columns, levels=levels, overrides=(), now=now, mode=Mode.ACTIVE, tag=tag)


def stepped(fleet: EmbeddedFleet, tick: TickDecisions, calls_per_s: FloatArray, last: FleetPlan | None) -> FleetPlan:
    """One tick of the fleet: look, plan, carry out."""
    now, callers = tick.now, fleet.callers(tick.state.keys, calls_per_s, tick.now)
    plan = plan_fleet(tick, fleet.snapshot(now), last, callers=callers, terms=FleetTerms(), now=now)
    fleet.apply(plan, now, kept_alive=np.full(len(fleet.existing()), -1, np.int32))
    return plan


def test_rows_of_the_service_are_found_by_key_and_functions_of_others_run_nowhere() -> None:
    fleet = EmbeddedFleet(SEED, PEOPLE)
    keys = (FunctionKey("other/thing"), PEOPLE.keys[7], PEOPLE.keys[3])
    now = DAY * 86_400.0
    tick = tick_for(keys, np.array([2, 1, 3]), np.zeros(3, np.int32), now)
    plan = stepped(fleet, tick, np.ones(60), None)

    assert plan.answer.plan.sum(axis=1)[0] == 2
    assert fleet.warm(keys).tolist() == [0, *plan.answer.plan.sum(axis=1)[1:].tolist()]
    existing = fleet.clusters.instances.existing()
    columns = [plan.names.index(name) for name in fleet.clusters.names]
    assert existing[3].tolist() == plan.answer.plan[2][columns].tolist()


def test_a_cold_start_is_warm_afterwards_and_counted_once() -> None:
    fleet = EmbeddedFleet(SEED, PEOPLE)
    now = DAY * 86_400.0
    fleet.snapshot(now)
    need = np.zeros(60, dtype=np.int64)
    need[5] = 2

    assert fleet.need(need, now).sum() == 2
    assert fleet.need(need, now + 1).sum() == 0
    assert fleet.warm([PEOPLE.keys[5]]).tolist() == [2]


@pytest.fixture(scope="module")
def lived() -> Lived:
    """Six hours from morning on, a tick every five minutes: the fleet, wrong totals, (wanted, ready), and records."""
    fleet = EmbeddedFleet(SEED, PEOPLE)
    counts = day_counts(SEED, 60, DAY)
    need = np.ceil(counts * PEOPLE.duration_s[:, None] / 60).astype(np.int64)
    wrong, stood, records = [], [], 0
    last: FleetPlan | None = None
    for minute in range(360, 720, 5):
        now = (DAY * DAY_MIN + minute) * 60.0
        total = need[:, minute - 10 : minute].max(axis=1)
        tick = tick_for(PEOPLE.keys, total, fleet.warm(PEOPLE.keys), now)
        last = plan = stepped(fleet, tick, counts[:, minute - 10 : minute].mean(axis=1) / 60, last)
        wrong.append(int((plan.answer.plan.sum(axis=1) + plan.answer.unplaced < total).sum()))
        stood.append((int(plan.answer.plan.sum()), int(fleet.clusters.instances.ready.sum())))
        records += len(list(changed(plan)))
    assert last is not None
    return Lived(fleet, last, wrong, stood, records)


def test_totals_are_met_tick_after_tick(lived: Lived) -> None:
    assert not any(lived.wrong)


def test_instances_follow_the_plan_by_their_start_up(
    lived: Lived,
) -> None:
    wanted, ready = np.array(lived.stood).T

    assert ready[-1] > 0
    assert np.abs(wanted[1:-1] - ready[2:]).mean() < 0.2 * wanted.mean()


def test_every_cluster_is_used_and_changes_are_on_record(
    lived: Lived,
) -> None:
    plan = lived.last

    assert (plan.answer.plan.sum(axis=0) > 0).all()
    assert lived.records > 20
    assert {one.payload_kib > 0 for one in lived.fleet.graph} == {True}
