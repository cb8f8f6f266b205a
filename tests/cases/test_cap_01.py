"""What counts as capacity: schedulable nodes, allocatable, pod slots, and nothing of finished pods."""

from typing import Any

from federation.placement.filters.examine import examine
from federation.placement.pipeline import ground, place
from federation.placement.terms import Terms
from federation.snapshot import CPU, Snapshot, Taint
from tests.federation.building import NOW, cluster, fleet, workload


def _fleet() -> Snapshot:
    shape: dict[str, Any] = {"cpu": "4", "memory": "8Gi"}
    return fleet(
        cluster("eu-1")
        .nodes(free={"cpu": "2500m", "memory": "7Gi", "pods": "109"}, **shape)  # p1 runs, p2 has ended
        .nodes(schedulable=False, **shape)
        .nodes(schedulable=False, **shape)
        .nodes(taints=(Taint("dedicated", "gpu", "NoSchedule"),), **shape)
        .nodes(cpu="16", memory="32Gi", pods="3", free={"cpu": "15800m", "memory": "31.75Gi", "pods": "1"})
    )


def test_six_instances_fit() -> None:
    on, asked = ground(_fleet()), workload("demo/f", 50, asks={"cpu": "500m", "memory": "256Mi"})
    case = examine(on.fleet, asked, book=on.book, tally=on.tally, terms=Terms(), now=NOW)
    assert case.each.tolist() == [5, 0, 0, 0, 1]
    assert case.fits.tolist() == [6]
    placement = place(_fleet(), asked, now=NOW)
    assert [(one.cluster, one.replicas) for one in placement.shares] == [("eu-1", 6)]
    assert placement.unplaced == 44
    assert placement.scores[0].room == 6


def test_free_cpu_is_what_pods_leave_of_allocatable_on_nodes_that_take_the_pod() -> None:
    on, asked = ground(_fleet()), workload("demo/f", 1, asks={"cpu": "500m", "memory": "256Mi"})
    case = examine(on.fleet, asked, book=on.book, tally=on.tally, terms=Terms(), now=NOW)
    assert int(on.fleet.rows.free[CPU, case.rows].sum()) == 18_300
