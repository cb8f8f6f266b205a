"""A node that takes one instance only: room is counted in nodes that have none of it yet."""

from __future__ import annotations

from dataclasses import replace

from federation.placement.explain.record import detail_of
from federation.placement.explain.text import sentences
from federation.placement.pipeline import place
from federation.placement.placer import Placer
from federation.placement.terms import Terms
from federation.placement.workload import Affinity, Requirement, Workload
from federation.snapshot import Snapshot
from tests.federation.building import NOW, cluster, fleet, workload

WHY = "podAntiAffinity over kubernetes.io/hostname"


def alone(replicas: int) -> Workload:
    return workload(replicas=replicas, one_per_node=WHY)


def rooms(snapshot: Snapshot, one: Workload) -> dict[str, int]:
    return {score.cluster: score.room for score in place(snapshot, one, now=NOW).scores}


def test_each_node_counts_once_and_the_rest_goes_elsewhere_or_is_unplaced() -> None:
    snapshot = fleet(cluster("a").nodes(3, cpu="8", memory="32Gi"), cluster("b").nodes(2, cpu="64", memory="512Gi"))
    assert rooms(snapshot, alone(5)) == {"a": 3, "b": 2}
    made = place(snapshot, alone(7), now=NOW)
    assert {one.cluster: one.replicas for one in made.shares} == {"a": 3, "b": 2}
    assert made.unplaced == 2
    reasons = [(one.factor, one.text) for one in made.reasons]
    assert ("one_per_node", f"a node takes one instance ({WHY})") in reasons
    assert f"a node takes one instance ({WHY})" in sentences(detail_of(made), reasons)


def test_nodes_that_have_one_take_no_other() -> None:
    snapshot = fleet(cluster("a").nodes(3, cpu="8", memory="32Gi").runs("shop/checkout", 2))
    assert rooms(snapshot, alone(9)) == {"a": 3}
    assert place(snapshot, alone(3), now=NOW).unplaced == 0
    assert place(snapshot, alone(4), now=NOW).unplaced == 1


def test_full_nodes_and_nodes_that_do_not_accept_it_do_not_count() -> None:
    mixed = cluster("a").nodes(2, cpu="8", memory="32Gi", labels={"disk": "ssd"}).nodes(4, cpu="8", memory="32Gi")
    full = mixed.nodes(3, cpu="8", memory="32Gi", free={"cpu": "100m"}, labels={"disk": "ssd"})
    ssd = Affinity(node_terms=((Requirement("disk", "In", ("ssd",)),),))
    assert rooms(fleet(full), replace(alone(9), affinity=ssd)) == {"a": 2}
    assert rooms(fleet(full), alone(9)) == {"a": 6}


def test_of_the_room_that_it_was_promised_itself_it_keeps_all() -> None:
    placer = Placer(fleet(cluster("a").nodes(3, cpu="8", memory="32Gi")))
    for _ in range(2):
        assert placer.place(alone(3), terms=Terms(), now=NOW).unplaced == 0


def test_nodes_that_autoscaling_adds_take_one_each() -> None:
    grows = cluster("a").nodes(1, cpu="8", memory="32Gi").autoscales(2, cpu="8", memory="32Gi")
    made = place(fleet(grows), alone(5), now=NOW)
    assert (made.unplaced, made.shares[0].replicas) == (2, 3)
