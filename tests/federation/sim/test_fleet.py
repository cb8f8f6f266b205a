"""The embedded world's clusters: plans are carried out, nodes are lost, and the planner answers."""

from __future__ import annotations

import numpy as np
import pytest

from federation.pools.tick.fleet_tick import FleetPlan, FleetTerms, plan_fleet
from federation.pools.tick.records import changed
from federation.sim.fleet import Kind, SimulatedFleet
from federation.sim.outages import DAY_S, dark_since, lost_nodes, outages_of
from federation.sim.shape import CLUSTERS, ClusterShape
from federation.snapshot import MEMORY, MemberState, Snapshot
from prewarm.domain import FunctionKey, IntArray
from prewarm.settings import PlacementPolicy
from tests.federation.pools.tick.made import calls_from, sure, tick_of

NODES = tuple(one.nodes for one in CLUSTERS)
MIB = 1 << 20


def kind(n: int = 3, memory_mib: int = 1_000, start_s: float = 4.0) -> Kind:
    keys = tuple(FunctionKey(f"shop/f{row}") for row in range(n))
    return Kind(keys, np.full(n, memory_mib, dtype=np.int64), np.full(n, start_s))


def quiet_seed() -> tuple[int, float]:
    """A seed and a moment with a quiet hour ahead."""
    for seed in range(200):
        if not [one for one in outages_of(seed, 1, NODES) if one.start < DAY_S + 7_200]:
            return seed, float(DAY_S)
    raise AssertionError("no quiet seed")


def dark_seed(cluster: int) -> tuple[int, float, float]:
    """A seed, and when on day 1 a cluster is dark and nothing else goes wrong."""
    for seed in range(4_000):
        found = outages_of(seed, 1, NODES)
        if len(found) == 1 and found[0].nodes is None and found[0].cluster == cluster:
            return seed, found[0].start, found[0].end
    raise AssertionError("no such seed")


def running(snapshot: Snapshot, cluster: str, row: int = 0) -> tuple[int, int, int]:
    here = snapshot.cluster(cluster)
    assert here is not None
    one = here.running.get(f"shop/f{row}")
    return (0, 0, 0) if one is None else (one.wanted, one.existing, one.ready)


def plan(*rows: list[int]) -> IntArray:
    return np.array(rows, dtype=np.int64)


def test_a_plan_is_carried_out_after_its_start_up() -> None:
    seed, now = quiet_seed()
    fleet = SimulatedFleet(seed, kind(1))
    fleet.snapshot(now)
    fleet.apply(plan([2, 0, 1]), now)

    assert running(fleet.snapshot(now), "eu-1") == (2, 2, 0)
    assert running(fleet.snapshot(now + 60), "eu-1") == (2, 2, 2)
    assert running(fleet.snapshot(now + 60), "us-1") == (1, 1, 1)


def test_a_move_starts_the_new_ones_first() -> None:
    seed, now = quiet_seed()
    fleet = SimulatedFleet(seed, kind(1))
    fleet.apply(plan([2, 0, 0]), now)
    fleet.snapshot(now + 60)
    fleet.apply(plan([0, 2, 0]), now + 60)

    assert running(fleet.snapshot(now + 60), "eu-1") == (2, 2, 2)
    assert running(fleet.snapshot(now + 60), "eu-2") == (2, 2, 0)
    done = fleet.snapshot(now + 180)
    assert running(done, "eu-1") == (0, 0, 0)
    assert running(done, "eu-2") == (2, 2, 2)


def test_what_is_too_much_goes_and_memory_is_free_again() -> None:
    seed, now = quiet_seed()
    fleet = SimulatedFleet(seed, kind(1))
    fleet.apply(plan([5, 0, 0]), now)
    full = fleet.snapshot(now + 60).cluster("eu-1")
    fleet.apply(plan([1, 0, 0]), now + 60)
    less = fleet.snapshot(now + 60).cluster("eu-1")

    assert full is not None
    assert less is not None
    assert int(full.nodes.requested[:, MEMORY].sum()) == 5_000 * MIB
    assert int(less.nodes.requested[:, MEMORY].sum()) == 1_000 * MIB


def test_what_no_node_holds_waits_for_room() -> None:
    seed, now = quiet_seed()
    small = (ClusterShape("one", "eu", nodes=2, node_mib=2_500),)
    fleet = SimulatedFleet(seed, kind(1), clusters=small)
    fleet.apply(plan([7]), now)

    assert running(fleet.snapshot(now + 60), "one") == (7, 4, 4)


def test_a_dark_cluster_loses_what_it_had_and_starts_it_again_by_itself() -> None:
    seed, start, end = dark_seed(0)
    fleet = SimulatedFleet(seed, kind(1))
    fleet.apply(plan([3, 0, 0]), start - 120)
    assert running(fleet.snapshot(start - 60), "eu-1")[2] == 3

    dark = fleet.snapshot(start + 60)
    there = dark.cluster("eu-1")
    assert there is not None
    assert (there.state, there.since, there.ages.nodes) == (MemberState.DARK, start, start)
    assert fleet.instances.ready[0, 0] == 0
    assert fleet.instances.lost == 3
    back = fleet.snapshot(end)
    assert back.clusters[0].state is MemberState.READY
    assert back.clusters[0].since == end
    assert running(fleet.snapshot(end + 60), "eu-1") == (3, 3, 3)


def test_a_cold_start_happens_where_the_function_is_or_its_callers_are() -> None:
    seed, now = quiet_seed()
    fleet = SimulatedFleet(seed, kind(2))
    fleet.apply(plan([0, 1, 0], [0, 0, 0]), now)
    fleet.snapshot(now + 60)
    near = np.array([[0.6, 0.0, 0.4], [0.2, 0.1, 0.7]])
    more = fleet.start_on_demand(np.array([3, 1]), near, now + 60)

    assert more.tolist() == [2, 1]
    assert fleet.instances.existing().tolist() == [[0, 3, 0], [0, 0, 1]]
    assert fleet.start_on_demand(np.array([3, 1]), near, now + 61).tolist() == [0, 0]


def test_the_same_seed_lives_the_same_day() -> None:
    def day(seed: int) -> list[list[int]]:
        fleet = SimulatedFleet(seed, kind(3, memory_mib=3_000))
        fleet.apply(plan([4, 2, 1], [3, 0, 4], [1, 3, 3]), float(DAY_S))
        lived = []
        for tick in range(60):
            fleet.snapshot(DAY_S + 600.0 * tick)
            lived.append(fleet.instances.ready.ravel().tolist())
        return lived

    assert day(5) == day(5)
    assert day(5) != day(6)


@pytest.mark.parametrize("seed", range(3))
def test_nodes_never_hold_more_than_they_have_all_day(seed: int) -> None:
    fleet = SimulatedFleet(seed, kind(3, memory_mib=1_700))
    rng = np.random.default_rng(seed)
    for tick in range(96):
        now = DAY_S + 900.0 * tick
        fleet.apply(rng.integers(0, 9, (3, 3), dtype=np.int64), now)
        for cluster in fleet.snapshot(now).clusters:
            used = cluster.nodes.requested
            assert (used <= cluster.nodes.allocatable).all()
            assert not used[~cluster.nodes.schedulable].any()
            assert all(one.ready <= one.existing for one in cluster.running.values())


def test_the_planner_moves_pools_out_of_a_dark_cluster_and_home_again() -> None:
    seed, start, end = dark_seed(1)
    fleet = SimulatedFleet(seed, kind(2, memory_mib=500))
    callers = calls_from(("eu", "us"), [2.0, 0.0], [1.0, 0.0])
    tick = tick_of(sure(4, 2), memory_mib=500.0)
    terms = FleetTerms(PlacementPolicy(delay_price_per_s=0.0))
    last: FleetPlan | None = None
    stood: dict[float, list[int]] = {}
    said: list[str] = []
    for minute in range(-3, int((end - start) / 60) + 12):
        now = start + 60.0 * minute
        last = plan_fleet(tick, fleet.snapshot(now), last, callers=callers, terms=terms, now=now)
        said += [reason.text for one in changed(last) for reason in one.reasons if reason.factor == "room_lost"]
        fleet.apply(last.answer.plan, now)
        stood[now] = fleet.instances.ready.sum(axis=0).tolist()
        assert (last.answer.plan.sum(axis=1) == [4, 2]).all()

    before = stood[start - 60]
    assert before == [0, 6, 0]
    assert stood[start + 120] == [6, 0, 0]
    assert stood[max(stood)] == before
    assert any("had to leave" in text for text in said)


def test_outages_end_within_their_day_and_never_take_more_nodes_than_there_are() -> None:
    for day in range(60):
        for one in outages_of(3, day, NODES):
            assert day * DAY_S <= one.start < one.end <= (day + 1) * DAY_S
            middle = (one.start + one.end) / 2
            lost = lost_nodes(outages_of(3, day, NODES), NODES, middle)
            assert 0 < lost[one.cluster] <= NODES[one.cluster]
            if one.nodes is None:
                assert dark_since(outages_of(3, day, NODES), one.cluster, middle) is not None
    assert dark_since((), 0, 5.0) is None
