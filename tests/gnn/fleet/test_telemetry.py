"""What fleets tell of themselves: every habit is among them, and the quiet ones change no decision of the rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest

from federation.snapshot import CPU, Cluster, NodeClass
from gnn.fleet.draw import START, Episode, draw
from gnn.fleet.state import USUAL_START_S, FleetState
from gnn.fleet.telemetry import Habits, open_nodes, telling, told_workload
from gnn.fleet.tuning import played, rule_of
from tests.gnn.questions import some_workload

SEEDS = range(70_000, 70_080)
RULE = rule_of({"fit": 0.05, "network": 4.0, "price": 10.0, "headroom": 0.05, "steadiness": 1.0, "risk": 0.5})
"""As the tuned one."""


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return [draw(seed) for seed in SEEDS]


def test_each_habit_is_as_frequent_as_it_says_and_two_kinds_of_a_seed_differ() -> None:
    found = [telling(seed, kind).has for seed in range(500) for kind in range(4)]
    many = Counter(name for has in found for name in has)
    for one in fields(Habits):
        assert many[one.name] / len(found) == pytest.approx(getattr(Habits(), one.name), abs=0.04)
    assert telling(7, 0).has == telling(7, 0).has
    assert len({telling(seed, 0).has for seed in range(20)}) > 10


def test_use_starts_quotas_and_headroom_are_told_by_some_fleets_only(episodes: list[Episode]) -> None:
    measured = [one.clusters[0].ages.metrics is not None for one in episodes]
    assert 25 <= sum(measured) <= 55
    for one, known in zip(episodes, measured, strict=True):
        assert all((cluster.ages.metrics is not None) == known for cluster in one.clusters)
        assert all(np.isfinite(cluster.nodes.used).all() == known for cluster in one.clusters)
    assert 25 <= sum(one.clusters[0].start_s is not None for one in episodes) <= 55
    assert 0 < sum(any(cluster.quotas for cluster in one.clusters) for one in episodes) < 60
    assert 0 < sum(any(cluster.nodes.gpu_free.any() for cluster in one.clusters) for one in episodes) < 40
    assert 0 < sum(any(cluster.headroom for cluster in one.clusters) for one in episodes) < 40


def test_starts_are_as_long_as_public_cold_starts(episodes: list[Episode]) -> None:
    starts = [cluster.start_s for one in episodes for cluster in one.clusters if cluster.start_s is not None]
    assert np.median(starts) == pytest.approx(2.5, rel=0.15)
    assert np.mean(starts) == pytest.approx(3.2, rel=0.15)
    assert max(starts) <= 60.0


def test_nodes_never_use_more_than_is_requested_of_them(episodes: list[Episode]) -> None:
    for one in episodes:
        for cluster in one.clusters:
            used = cluster.nodes.used
            assert (np.isnan(used) | (used <= cluster.nodes.requested[:, :2])).all()


def test_where_nobody_counts_calls_none_are_known_and_without_regions_nobody_does(episodes: list[Episode]) -> None:
    heard = [one.events[0].workload.demand_per_s is not None for one in episodes]
    silent = [one for one, known in zip(episodes, heard, strict=True) if not known]
    assert 5 <= len(silent) <= 30
    for one in silent:
        assert not one.calls
        assert all(not event.workload.callers for event in one.events)
    placed = [one.clusters[0].region is not None for one in episodes]
    assert not all(placed)
    assert all(there or not known for there, known in zip(placed, heard, strict=True))


def test_undeclared_links_are_unknown_and_a_cluster_is_near_itself(episodes: list[Episode]) -> None:
    delays = [one.links.delay_ms for one in episodes]
    unlinked = [delay for delay in delays if not np.isfinite(delay[~np.eye(len(delay), dtype=bool)]).any()]
    assert 2 <= len(unlinked) <= 20
    assert all((np.diag(delay) == 0.0).all() for delay in unlinked)


def test_a_workload_of_a_fleet_that_is_heard_keeps_its_callers() -> None:
    heard = next(how for seed in range(50) if (how := telling(seed, 0)).heard)
    workload = replace(some_workload("shop/a"), demand_per_s=3.0)
    assert told_workload(workload, heard) is workload


@pytest.mark.parametrize("seed", [70_001, 70_002, 70_007])
def test_quiet_habits_change_nothing_that_the_rule_decides(seed: int) -> None:
    episode = draw(seed)
    stripped = replace(episode, clusters=tuple(_bare(one) for one in episode.clusters))
    known, bare = (played(replace(one, clusters=_rigid(one)), RULE) for one in (episode, stripped))
    assert [one.score for one in known] == [one.score for one in bare]


def _rigid(episode: Episode) -> tuple[Cluster, ...]:
    """Without headroom, and with starts of one length: those two are seen in decisions."""
    return tuple(replace(one, headroom=None, start_s=None) for one in episode.clusters)


def _bare(one: Cluster) -> Cluster:
    """Without use, quotas and zones."""
    used = np.full((len(one.nodes), 2), np.nan)
    classes = tuple(NodeClass(_without_zone(kind), kind.taints) for kind in one.nodes.classes)
    nodes = replace(one.nodes, classes=classes, used=used)
    return replace(one, nodes=nodes, quotas=(), ages=replace(one.ages, metrics=None))


def _without_zone(kind: NodeClass) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in kind.labels if "zone" not in pair[0])


def test_nothing_is_bound_to_the_control_plane(episodes: list[Episode]) -> None:
    episode = next(one for one in episodes if any(kind.taints for kind in one.clusters[0].nodes.classes))
    state, before = FleetState(episode), [one.nodes.requested[-1].tolist() for one in episode.clusters]
    counts = np.ones(len(episode.clusters), np.int64)
    state.put(replace(some_workload("shop/a"), requests={"cpu": 100, "memory": 1 << 27}), counts)
    assert [one.nodes.requested[-1].tolist() for one in state.clusters] == before
    assert state.counts("shop/a").tolist() == counts.tolist()


def test_declared_nodes_come_when_instances_need_them() -> None:
    episode = next(one for seed in SEEDS if (one := draw(seed)).clusters[0].headroom is not None)
    state, first = FleetState(episode), episode.clusters[0]
    assert first.headroom is not None
    cpu = first.headroom.allocatable["cpu"]
    big = replace(some_workload("shop/a"), requests={"cpu": cpu, "memory": 1 << 20})
    there = int(open_nodes(first.nodes) @ (first.nodes.free[:, CPU] // cpu))
    counts = np.zeros(len(episode.clusters), np.int64)
    counts[0] = there + 1
    before = state.loads()[0]
    state.put(big, counts)
    grown = state.clusters[0]
    assert len(grown.nodes) == len(first.nodes) + 1
    assert grown.nodes.requested[-1, CPU] in (0, cpu)
    assert grown.headroom is not None
    assert grown.headroom.nodes == first.headroom.nodes - 1
    assert before < state.loads()[0] <= 1.0
    state.remove("shop/a")
    assert state.clusters[0].nodes.requested[: len(first.nodes)].tolist() == first.nodes.requested.tolist()


def test_instances_are_ready_after_the_time_that_starts_take_there() -> None:
    episode = next(one for seed in SEEDS if (one := draw(seed)).clusters[0].start_s is None)
    state, counts = FleetState(episode), np.zeros(len(episode.clusters), np.int64)
    workload = replace(some_workload("shop/a"), requests={"cpu": 1, "memory": 1})
    for number, at in ((2, START), (5, START + 2.0)):
        state.now, counts[0] = at, number
        state.put(workload, counts)
    ready = []
    for at in (START + 2.0, START + USUAL_START_S, START + 2.0 + USUAL_START_S):
        state.now = at
        ready.append(state.snapshot().clusters[0].running["shop/a"].ready)
    assert ready == [0, 2, 5]
