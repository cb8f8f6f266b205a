"""A workload bound to nodes by name: only those count, with their room, and a cluster without them says so."""

from dataclasses import replace

import pytest

from federation.nodes.fragment import Unfragmented
from federation.placement.answer import Placement
from federation.placement.filters.hosts import may_satisfy
from federation.placement.packing.changes import Changes
from federation.placement.pipeline import place
from federation.placement.terms import Terms
from federation.placement.workload import Affinity, GpuNeed, Requirement, Workload
from federation.snapshot import HOSTNAME_LABEL, Snapshot, frozen
from tests.federation.building import NOW, ClusterBuilder, cluster, fleet, workload
from tests.federation.placement.packing.test_packing import NONE, WHOLE, mix_of

ZONE = "topology.kubernetes.io/zone"


def host(operator: str, *values: str) -> Requirement:
    return Requirement(HOSTNAME_LABEL, operator, values)


def bound(*groups: tuple[Requirement, ...], replicas: int = 1, gpu: GpuNeed = NONE) -> Workload:
    """Each instance takes a core."""
    asks = {"cpu": "1", "memory": "1Gi"}
    return workload(replicas=replicas, asks=asks, affinity=Affinity(node_terms=groups), gpu=gpu)


def named(builder: ClusterBuilder, *rows: tuple[str, ...], hosts: dict[str, str] | None = None) -> Snapshot:
    """A fleet of one cluster whose nodes have these names, row by row."""
    one = builder.build()
    nodes = replace(one.nodes, names=rows, hosts=frozen(hosts))
    return replace(fleet(builder), clusters=(replace(one, nodes=nodes),))


def reason(placement: Placement) -> tuple[str, str]:
    return placement.filtered[0].filter, placement.filtered[0].reason


FOUR_CORES = {"cpu": "4", "memory": "16Gi"}
THREE = cluster("eu").nodes(3, **FOUR_CORES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("group", "placed"),
    [
        pytest.param((host("In", "n2"),), 4, id="one of three alike"),
        pytest.param((host("In", "n1", "n3", "n9"),), 8, id="those of the list that are there"),
        pytest.param((host("NotIn", "n2"),), 8, id="all others"),
        pytest.param((host("Exists"),), 12, id="every node has a host name"),
    ],
)
def test_room_is_counted_on_the_nodes_that_are_named(group: tuple[Requirement, ...], placed: int) -> None:
    placement = place(named(THREE, ("n1", "n2", "n3")), bound(group, replicas=20), now=NOW)
    assert sum(share.replicas for share in placement.shares) == placed
    assert placement.unplaced == 20 - placed


def test_a_cluster_without_the_node_is_dropped_with_what_was_asked() -> None:
    placement = place(named(THREE, ("n1", "n2", "n3")), bound((host("In", "n7"),)), now=NOW)
    assert reason(placement) == ("affinity", "no node with kubernetes.io/hostname In n7")


def test_where_nodes_are_not_known_by_name_the_reason_says_so() -> None:
    placement = place(fleet(THREE), bound((host("In", "n1"),)), now=NOW)
    assert reason(placement) == (
        "affinity",
        "its nodes are not known by name, so kubernetes.io/hostname matches none (kubernetes.io/hostname In n1)",
    )
    assert place(fleet(THREE), bound((host("In", "n1"),), (Requirement("rack", "DoesNotExist", ()),)), now=NOW).shares


def test_the_label_counts_where_it_is_not_the_name() -> None:
    snapshot = named(THREE, ("n1", "n2", "n3"), hosts={"n2": "ip-10-0-0-2"})
    assert place(snapshot, bound((host("In", "ip-10-0-0-2"),)), now=NOW).shares[0].replicas == 1
    assert place(snapshot, bound((host("In", "n2"),)), now=NOW).unplaced == 1


def test_a_group_must_hold_as_a_whole_on_one_node() -> None:
    builder = cluster("eu").nodes(1, labels={ZONE: "a"}, **FOUR_CORES).nodes(1, labels={ZONE: "b"}, **FOUR_CORES)  # type: ignore[arg-type]
    snapshot, in_a = named(builder, ("n1",), ("n2",)), Requirement(ZONE, "In", ("a",))
    assert place(snapshot, bound((host("In", "n1"), in_a)), now=NOW).shares[0].replicas == 1
    assert reason(place(snapshot, bound((host("In", "n2"), in_a)), now=NOW))[0] == "affinity"


def test_the_value_of_a_node_is_that_of_the_named_one() -> None:
    """Of two nodes the whole GPU is the better one to leave alone; who is bound to it breaks it all the same."""
    mix = mix_of((WHOLE, 1))
    builder = cluster("eu").nodes(1, gpus=(1000,), **FOUR_CORES).nodes(1, gpus=(500,), **FOUR_CORES)  # type: ignore[arg-type]
    snapshot, terms = named(builder, ("whole",), ("half",)), Terms(fragmentation=Changes(Unfragmented(mix)))
    values = {}
    for name in ("whole", "half"):
        placement = place(snapshot, bound((host("In", name),), gpu=GpuNeed(milli=500)), terms=terms, now=NOW)
        values[name] = {one.name: one.value for one in placement.scores[0].factors}["fragmentation"]
    assert values["whole"] < values["half"]


def test_what_a_kind_of_node_could_satisfy_leaves_the_host_name_open() -> None:
    labels = {ZONE: "a"}
    assert may_satisfy(labels, ())
    assert may_satisfy(labels, ((host("In", "n1"),),))
    assert not may_satisfy(labels, ((host("In", "n1"), Requirement(ZONE, "In", ("b",))),))
    assert not may_satisfy(labels, ((),))
