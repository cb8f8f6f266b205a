"""The table kept by events and the columns made of it: sums, rows of nodes that are alike, usage and its age."""

from __future__ import annotations

import math
import time
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.informer.hold.columns import Columns
from federation.informer.hold.table import NodeTable
from federation.informer.read.nodes import NodeFacts, read_node
from federation.informer.read.pods import PodFacts, read_pod
from federation.informer.read.usage import Usage
from federation.snapshot import CPU, MEMORY, PODS, Nodes
from tests.federation.informer.made import GI, MI, by_name, node, pod, told


class Held:
    """A table fed with raw objects, by name."""

    def __init__(self) -> None:
        self.table = NodeTable()
        self.columns = Columns(self.table)
        self.node_facts: dict[str, NodeFacts] = {}
        self.pod_facts: dict[str, PodFacts] = {}

    def node(self, name: str, **fields: Any) -> None:
        facts = read_node(node(name, **fields))
        self.table.node_changed(name, self.node_facts.get(name), facts)
        self.node_facts[name] = facts

    def no_node(self, name: str) -> None:
        self.table.node_changed(name, self.node_facts.pop(name), None)

    def pod(self, name: str, bound_to: str | None, **fields: Any) -> None:
        facts = read_pod(pod(name, bound_to, **fields))
        self.table.pod_changed(name, self.pod_facts.get(name), facts)
        self.pod_facts[name] = facts

    def no_pod(self, name: str) -> None:
        self.table.pod_changed(name, self.pod_facts.pop(name), None)

    def nodes(self, now: float = 0.0, *, pods_known: bool = True) -> Nodes:
        return self.columns.nodes(now, usage_stale_s=180.0, pods_known=pods_known)


def requested(nodes: Nodes, name: str) -> list[int]:
    row: list[int] = nodes.requested[by_name(nodes)[name]].tolist()
    return row


def test_pods_take_from_their_node_until_they_end_move_or_go() -> None:
    held = Held()
    held.node("n1")
    held.pod("a", "n1", cpu="1", memory="1Gi")
    held.pod("b", "n1", cpu="250m", memory="64Mi")
    held.pod("c", None)
    assert requested(held.nodes(), "n1") == [1250, GI + 64 * MI, 2]
    held.pod("a", "n1", cpu="2", memory="1Gi")
    held.pod("c", "n1", cpu="100m", memory="1Mi")
    assert requested(held.nodes(), "n1") == [2350, GI + 65 * MI, 3]
    held.pod("a", "n1", cpu="2", memory="1Gi", phase="Succeeded")
    held.no_pod("b")
    assert requested(held.nodes(), "n1") == [100, MI, 1]


def test_a_pod_may_be_told_before_its_node() -> None:
    held = Held()
    held.pod("a", "n1", cpu="1")
    assert len(held.nodes()) == 0
    held.node("n1")
    assert requested(held.nodes(), "n1")[CPU] == 1000


def test_a_node_that_comes_back_under_its_name_has_the_pods_that_are_still_bound() -> None:
    held = Held()
    held.node("n1")
    held.pod("a", "n1", cpu="1")
    held.no_node("n1")
    assert len(held.nodes()) == 0
    held.node("n1", cpu="8")
    nodes = held.nodes()
    assert requested(nodes, "n1")[CPU] == 1000
    assert nodes.allocatable[0, CPU] == 8000


def test_what_nothing_speaks_of_any_more_leaves_nothing_behind() -> None:
    held = Held()
    for turn in range(500):
        held.node(f"n{turn}", labels={"zone": str(turn)})
        held.pod("p", f"n{turn}", cpu="3")
        held.no_node(f"n{turn}")
    held.no_pod("p")
    held.node("last")
    assert len(held.table.present) == 64
    assert len(held.table.classes) == 1
    assert requested(held.nodes(), "last") == [0, 0, 0]


def test_nodes_that_are_alike_are_one_row_with_their_names() -> None:
    held = Held()
    for name in ("d", "a", "c", "b"):
        held.node(name)
    held.node("e", cpu="8")
    held.pod("p", "c", cpu="1")
    nodes = held.nodes()
    assert nodes.names == (("a", "b", "d"), ("c",), ("e",))
    assert nodes.count.tolist() == [3, 1, 1]
    assert nodes.total(nodes.allocatable)["cpu"] == 24_000
    assert nodes.total(nodes.free)["cpu"] == 23_000


def test_every_field_tells_nodes_apart() -> None:
    held = Held()
    held.node("plain")
    held.node("cpu", cpu="5")
    held.node("zone", labels={"zone": "b"})
    held.node("taint", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    held.node("cordoned", cordoned=True)
    held.node("gpu", more={"nvidia.com/gpu": "1"})
    held.node("used")
    held.table.usage_changed({"used": Usage(500, GI, 0.0)})
    assert held.nodes().count.tolist() == [1] * 7


def test_resources_are_the_base_and_then_by_name_what_somebody_has_or_takes() -> None:
    held = Held()
    held.node("n1", more={"nvidia.com/gpu": "4", "example.com/fpga": "1"})
    assert held.nodes().resources == ("cpu", "memory", "pods", "example.com/fpga", "nvidia.com/gpu")
    held.node("n1")
    assert held.nodes().resources == ("cpu", "memory", "pods")


def test_many_resources_widen_the_table() -> None:
    held = Held()
    held.pod("p", "n1", cpu="1")
    held.node("n1", more={f"example.com/r{number:02}": str(number) for number in range(1, 30)})
    nodes = held.nodes()
    assert nodes.allocatable[0].tolist() == [4000, 8 * GI, 110, *range(1, 30)]
    assert requested(nodes, "n1")[CPU] == 1000


def test_whole_gpus_that_are_free() -> None:
    held = Held()
    held.node("n1", more={"nvidia.com/gpu": "4"})
    held.node("n2", more={"nvidia.com/gpu": "2"})
    held.node("n3")
    gpu_pod = {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "3"}}}]}
    held.pod("p", "n1", spec=gpu_pod)
    nodes = held.nodes()
    free = {name: nodes.gpu_free[row].tolist() for name, row in by_name(nodes).items()}
    assert free == {"n1": [1000, 0, 0, 0], "n2": [1000, 1000, 0, 0], "n3": [0, 0, 0, 0]}


def test_no_gpu_anywhere_is_no_column() -> None:
    held = Held()
    held.node("n1")
    assert held.nodes().gpu_free.shape == (1, 0)


@pytest.mark.parametrize("fields", [{"ready": "False"}, {"cordoned": True}, {"cpu": "?"}])
def test_a_node_that_takes_nothing_is_kept_for_the_totals(fields: dict[str, Any]) -> None:
    held = Held()
    held.node("n1", **fields)
    held.node("n2")
    nodes = held.nodes()
    assert nodes.schedulable.tolist() == [False, True]
    assert nodes.total(nodes.allocatable)["pods"] == 110
    assert len(nodes) == 2


def test_one_pod_that_cannot_be_read_makes_its_node_unknown_while_it_is_there() -> None:
    held = Held()
    held.node("n1")
    held.node("n2")
    held.pod("bad", "n1", cpu="?")
    assert told(held.nodes())["n1"][-1] is False
    assert told(held.nodes())["n2"][-1] is True
    held.no_pod("bad")
    assert told(held.nodes())["n1"][-1] is True


def test_while_pods_are_not_known_no_node_takes_anything() -> None:
    held = Held()
    held.node("n1")
    assert not held.nodes(pods_known=False).schedulable.any()
    assert held.nodes(pods_known=True).schedulable.all()


def test_usage_is_rounded_up_and_unknown_where_there_is_none() -> None:
    held = Held()
    held.node("n1")
    held.node("n2", cpu="8")
    held.table.usage_changed({"n1": Usage(1_501, 100 * MI, 0.0), "elsewhere": Usage(1, 1, 0.0)})
    nodes = held.nodes()
    assert nodes.used[0].tolist() == [1510.0, 112.0 * MI]
    assert np.isnan(nodes.used[1]).all()


def test_usage_may_be_told_before_its_node_and_is_not_kept_for_nodes_that_never_come() -> None:
    held = Held()
    held.table.usage_changed({"n1": Usage(500, GI, 0.0), "never": Usage(1, 1, 0.0)})
    held.node("n1")
    assert held.nodes().used[0, CPU] == 500.0
    held.table.usage_changed({"n1": Usage(600, GI, 0.0)})
    assert list(held.table._samples) == ["n1"]


def test_usage_turns_stale_by_itself_and_fresh_by_a_new_sample() -> None:
    held = Held()
    held.node("n1")
    held.table.usage_changed({"n1": Usage(1_000, GI, 100.0)})
    assert held.nodes(279.9).used[0, CPU] == 1000.0
    assert math.isnan(held.nodes(280.0).used[0, CPU])
    held.table.usage_changed({"n1": Usage(500, GI, 270.0)})
    assert held.nodes(281.0).used[0, CPU] == 500.0


def test_the_same_columns_while_nothing_changes() -> None:
    held = Held()
    held.node("n1")
    held.pod("p", "n1")
    first = held.nodes(1.0)
    held.pod("p", "n1", ready=True)
    held.pod("waits", None)
    assert held.nodes(2.0) is first
    held.pod("q", "n1")
    assert held.nodes(2.0) is not first


def test_columns_cannot_be_changed() -> None:
    held = Held()
    held.node("n1")
    for array in (held.nodes().allocatable, held.nodes().requested, held.nodes().used, held.nodes().schedulable):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


CPUS = st.sampled_from(["100m", "250m", "1", "?"])
NODE_STEP = st.tuples(
    st.just("node"), st.sampled_from("abcdef"), st.none() | st.tuples(st.sampled_from(["4", "8", "?"]), st.booleans())
)
POD_STEP = st.tuples(
    st.just("pod"), st.sampled_from("pqrstu"), st.none() | st.tuples(st.none() | st.sampled_from("abcdef"), CPUS)
)


def play(held: Held, steps: list[Any]) -> None:
    for kind, name, value in steps:
        if kind == "node" and value is not None:
            held.node(name, cpu=value[0], cordoned=value[1])
        elif kind == "pod" and value is not None:
            held.pod(name, value[0], cpu=value[1])
        elif kind == "node" and name in held.node_facts:
            held.no_node(name)
        elif kind == "pod" and name in held.pod_facts:
            held.no_pod(name)


@given(steps=st.lists(NODE_STEP | POD_STEP, max_size=60), seed=st.integers(0, 2**32))
def test_any_sequence_of_events_gives_what_a_fresh_list_would(steps: list[Any], seed: int) -> None:
    followed, fresh = Held(), Held()
    for step in steps:
        play(followed, [step])
        if Random(seed).random() < 0.3:
            followed.nodes()
    final: dict[tuple[str, str], Any] = {(kind, name): value for kind, name, value in steps}
    listed = [(kind, name, value) for (kind, name), value in final.items()]
    Random(seed).shuffle(listed)
    play(fresh, listed)
    one, other = followed.nodes(), fresh.nodes()
    assert told(one) == told(other)
    assert (one.names, one.resources, one.classes) == (other.names, other.resources, other.classes)
    assert one.count.tolist() == [len(names) for names in one.names or ()]
    assert one.requested.tolist() == other.requested.tolist()
    assert len(set(map(str, told(one).values()))) == len(one)


def test_five_thousand_nodes_that_all_differ_are_columns_in_milliseconds() -> None:
    held = Held()
    facts = read_node(node("x", cpu="64", memory="256Gi"))
    for number in range(5_000):
        held.table.node_changed(f"n{number:04}", None, facts)
    for number in range(20_000):
        held.table.pod_changed("", None, read_pod(pod("p", f"n{number % 5_000:04}", cpu=f"{number % 997}m")))
    samples = {f"n{number:04}": Usage(number * 10, number * MI * 16, 0.0) for number in range(5_000)}
    held.table.usage_changed(samples)
    took, nodes = [], held.nodes()
    for number in range(9):
        held.table.pod_changed("", None, read_pod(pod("p", f"n{number:04}", cpu="2")))
        began = time.process_time()
        nodes = held.nodes()
        took.append(time.process_time() - began)
    assert len(nodes) == 5_000
    assert nodes.total(nodes.requested)["pods"] == 20_009
    assert nodes.requested[:, PODS].min() == 4
    assert nodes.used[-1, MEMORY] == 4_999 * 16 * MI
    assert min(took) < 0.05


def test_a_host_name_that_is_not_the_nodes_name_is_kept_beside_its_row() -> None:
    held = Held()
    held.node("n1")
    held.node("n2", labels={"kubernetes.io/hostname": "ip-10-0-0-2"})
    nodes = held.columns.nodes(0.0, usage_stale_s=60.0, pods_known=True)
    assert nodes.names == (("n1", "n2"),)  # the label makes them no less alike
    assert dict(nodes.hosts) == {"n2": "ip-10-0-0-2"}
    held.no_node("n2")
    assert not held.columns.nodes(0.0, usage_stale_s=60.0, pods_known=True).hosts
