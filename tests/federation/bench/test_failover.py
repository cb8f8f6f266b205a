"""The failover benchmark: its world, its router and its policies, and one run of ours from loss to return."""

from __future__ import annotations

import numpy as np
import pytest

from federation.bench.failover import EXPECTED, POLICY, Run, play
from federation.bench.failover_policies import ByAvailable, Choice, Duplicated, Ours, WithoutReservation
from federation.bench.failover_router import CALLS_PER_S, LAG_S, Served, route
from federation.bench.failover_world import (
    APPS,
    BACK_S,
    DETECT_S,
    GRACE_S,
    LOST_S,
    NEVER,
    ROOM,
    START,
    Instance,
    World,
    key_of,
)
from federation.snapshot import MemberState


def world(seed: int = 0) -> World:
    made = World(np.random.default_rng(seed))
    made.begin()
    return made


def test_the_world_is_that_of_the_protocol() -> None:
    assert (ROOM["b"], ROOM["c"], APPS, BACK_S - LOST_S) == (10, 5, 15, 600.0)
    first = world().snapshot(0.0)
    assert sum(one.running[key_of(0)].ready for one in first.clusters if key_of(0) in one.running) == 1
    draws = START.draw(np.random.default_rng(0), 20_000)
    assert draws.mean() == pytest.approx(2.3, rel=0.03)
    assert draws.std() == pytest.approx(1.15, rel=0.06)


def test_a_lost_cluster_is_seen_dark_after_its_detection_and_ready_again_after_its_first_answer() -> None:
    made = world()
    states = {at: made.snapshot(at).clusters[0].state for at in (LOST_S + 1, LOST_S + DETECT_S, BACK_S + 1, BACK_S + 3)}

    assert list(states.values()) == [MemberState.READY, MemberState.DARK, MemberState.DARK, MemberState.READY]
    made.advance(LOST_S)
    assert not made.running(0, LOST_S)["a"].ready
    made.tell(0, {"a": 0, "b": 1}, LOST_S + 20)
    assert (made.told["a"][0], made.told["b"][0]) == (1, 1)
    made.advance(BACK_S)
    assert made.running(3, BACK_S + 60)["a"].ready == 1


def test_what_has_no_room_stays_pending_and_is_counted_as_over_committed() -> None:
    made = world()
    for app in range(12):
        made.tell(app, {"b": 1}, 5.0)
    made.advance(5.0)
    cluster = made.snapshot(90.0).clusters[1]

    assert int(cluster.nodes.requested[0, 2]) == 10
    assert made.most_over == 2
    assert sum(one.pending for one in cluster.running.values()) == 2


def test_an_instance_that_is_told_to_stop_serves_its_grace_period() -> None:
    made = world()
    made.tell(0, {"a": 0}, 10.0)
    made.advance(10.0)
    first = next(one for one in made.instances if one.app == 0)

    assert (first.stopped, first.gone) == (10.0, 10.0 + GRACE_S)
    assert "a" not in made.running(0, 11.0)


def served(*instances: Instance, weights: dict[str, float] | None = None) -> Served:
    return route(instances, [(-1.0, weights or {"a": 1.0})], until=100.0, rng=np.random.default_rng(1))


def test_the_router_loses_nothing_while_somebody_is_ready() -> None:
    found = served(Instance(0, "a", 0, ready=-10.0, stopped=50.0, gone=60.0), Instance(0, "b", 0, ready=45.0))

    assert len(found.at) == pytest.approx(100 * CALLS_PER_S, rel=0.15)
    assert not found.lost.any()


def test_the_router_loses_what_it_sends_to_the_dead_until_it_learns_and_all_until_the_next_is_ready() -> None:
    found = served(Instance(0, "a", 0, ready=-10.0, gone=50.0), Instance(0, "b", 0, ready=70.0))

    assert found.lost_between(50.0, 70.0 + LAG_S) == ((found.at >= 50.0) & (found.at < 70.0 + LAG_S)).sum()
    assert found.lost_between(0.0, 50.0) == found.lost_between(70.0 + LAG_S, 100.0) == 0


def test_a_drain_without_grace_loses_the_lags_worth() -> None:
    found = served(Instance(0, "a", 0, ready=-10.0, stopped=50.0, gone=50.0), Instance(0, "b", 0, ready=20.0))

    assert 0 < found.lost_between(50.0, 50.0 + LAG_S) <= ((found.at >= 50.0) & (found.at < 51.0)).sum()
    assert found.lost_between(51.0, 100.0) == 0


def test_the_router_follows_the_weights_among_those_that_are_ready() -> None:
    dead = Instance(0, "b", 0, ready=-10.0, gone=0.0)
    dead.stopped = NEVER
    all_of_time = Instance(0, "a", 0, ready=-10.0)
    doomed = Instance(0, "b", 0, ready=-10.0, gone=99.9)
    even = served(all_of_time, doomed, weights={"a": 0.75, "b": 0.25})

    assert not even.lost[even.at < 99.0].any()
    assert not served(all_of_time, dead, weights={"a": 1.0, "b": 0.0}).lost[10:].any()


def dark_world() -> World:
    made = world()
    made.advance(LOST_S)
    return made


def test_ours_divides_exactly_where_divisions_without_a_book_do_not() -> None:
    made, now = dark_world(), LOST_S + DETECT_S
    snapshot = made.snapshot(now)
    apps = list(range(APPS))

    def where(choices: dict[int, Choice]) -> dict[str, int]:
        return {name: sum(one.replicas.get(name, 0) for one in choices.values()) for name in ("a", "b", "c")}

    ours = Ours(made.snapshot(0.0), POLICY)
    assert where(ours.decide(snapshot, apps, now)) == {"a": 0, **EXPECTED}
    assert where(WithoutReservation(POLICY).decide(snapshot, apps, now)) == {"a": 0, "b": 15, "c": 0}
    assert where(ByAvailable().decide(snapshot, apps, now)) == {"a": 0, "b": 15, "c": 0}
    assert where(Duplicated().decide(snapshot, apps, now)) == {"a": 0, "b": 15, "c": 15}


@pytest.fixture(scope="module")
def ours() -> Run:
    return play("prewarm", 0)


def test_the_failover_is_exact_and_over_commits_nothing(ours: Run) -> None:
    assert ours.away == EXPECTED
    assert (ours.ready_away, ours.over) == (15, 0)
    assert ours.first_ready_s is not None
    assert ours.all_ready_s is not None
    assert DETECT_S < ours.first_ready_s < ours.all_ready_s < DETECT_S + 15


def test_requests_are_lost_only_until_the_first_replacement_is_ready(ours: Run) -> None:
    assert ours.lost_failover > 0
    assert ours.lost_while_away == 0


def test_the_way_back_is_automatic_waits_until_trusted_and_fails_nothing(ours: Run) -> None:
    assert ours.home == 15
    assert ours.home_s is not None
    assert POLICY.failback_s <= ours.home_s < POLICY.failback_s + 60
    assert ours.lost_failback == 0
