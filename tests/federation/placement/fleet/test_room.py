"""How many instances fit: node by node, with pod slots, extended resources and GPUs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.filters.examine import examine
from federation.placement.pipeline import ground
from federation.placement.terms import Terms
from federation.placement.workload import GpuNeed, Workload
from federation.snapshot import Snapshot
from tests.federation.building import NOW, ClusterBuilder, cluster, fleet, workload


def fits(snapshot: Snapshot, asked: Workload) -> list[int]:
    """Further instances by cluster."""
    on = ground(snapshot)
    counts: list[int] = examine(on.fleet, asked, book=on.book, tally=on.tally, terms=Terms(), now=NOW).fits.tolist()
    return counts


def test_a_sum_that_no_single_node_has_is_no_room() -> None:
    spread = fleet(cluster("a").nodes(10, cpu="4", memory="8Gi", free={"cpu": "1"}))
    assert fits(spread, workload(asks={"cpu": "2"})) == [0]
    assert fits(spread, workload(asks={"cpu": "1"})) == [10]
    assert fits(spread, workload(asks={"cpu": "500m"})) == [20]


def test_the_scarcest_resource_of_a_node_counts() -> None:
    one = fleet(cluster("a").nodes(2, cpu="16", memory="4Gi", pods="5"))
    assert fits(one, workload(asks={"cpu": "1", "memory": "1Gi"})) == [8]
    assert fits(one, workload(asks={"cpu": "1", "memory": "256Mi"})) == [10]
    assert fits(one, workload(asks={})) == [10]


def test_rows_of_several_nodes_count_each_node() -> None:
    mixed = fleet(cluster("a").nodes(3, cpu="3", memory="8Gi").nodes(2, cpu="5", memory="8Gi"))
    assert fits(mixed, workload(asks={"cpu": "2"})) == [3 * 1 + 2 * 2]


@pytest.mark.parametrize(
    ("gpus", "need", "right"),
    [
        pytest.param((1000, 1000, 500, 0), GpuNeed(1, 1000), 2, id="whole-ones-need-free-gpus"),
        pytest.param((1000, 1000, 1000, 500), GpuNeed(2, 1000), 1, id="two-at-a-time"),
        pytest.param((1000, 500, 400, 0), GpuNeed(0, 500), 3, id="shares-fit-into-single-gpus"),
        pytest.param((400, 400), GpuNeed(0, 500), 0, id="two-rests-make-no-share"),
        pytest.param((1000, 999), GpuNeed(0, 1000), 1, id="a-share-of-a-thousand-is-a-whole-one"),
        pytest.param((), GpuNeed(1, 1000), 0, id="no-gpus-at-all"),
    ],
)
def test_gpus_whole_and_shared(gpus: tuple[int, ...], need: GpuNeed, right: int) -> None:
    one = fleet(cluster("a").nodes(cpu="64", memory="64Gi", gpus=gpus))
    assert fits(one, workload(asks={"cpu": "1"}, gpu=need)) == [right]


def test_only_an_allowed_gpu_model_counts() -> None:
    models = {"a": "T4", "b": "G2"}
    both = fleet(
        *(
            cluster(name).nodes(cpu="64", memory="64Gi", gpus=(1000,), labels={"nvidia.com/gpu.product": model})
            for name, model in models.items()
        )
    )
    assert fits(both, workload(asks={"cpu": "1"}, gpu=GpuNeed(1, 1000, ("T4",)))) == [1, 0]


def test_a_resource_that_only_another_cluster_has_is_none_here() -> None:
    special: dict[str, Any] = {"example.com/fpga": "2"}
    two = fleet(cluster("a").nodes(cpu="8", memory="8Gi"), cluster("b").nodes(cpu="8", memory="8Gi", **special))
    assert fits(two, workload(asks={"cpu": "1", "example.com/fpga": "1"})) == [0, 2]


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "amd.com/gpu"])
def test_gpus_that_a_request_names_as_a_resource_are_counted_as_one(name: str) -> None:
    there: dict[str, Any] = {name: "4"}
    one = fleet(cluster("a").nodes(2, cpu="64", memory="64Gi", free={name: "3"}, **there))
    assert fits(one, workload(asks={"cpu": "1", name: "2"}, gpu=GpuNeed(2, 1000))) == [2]


def test_room_on_nodes_that_autoscaling_would_add_is_kept_apart() -> None:
    full = cluster("a").nodes(cpu="4", memory="8Gi", free={"cpu": "0"}).autoscales(3, cpu="4", memory="8Gi")
    on, asked = ground(fleet(full)), workload(asks={"cpu": "2"})
    case = examine(on.fleet, asked, book=on.book, tally=on.tally, terms=Terms(), now=NOW)
    assert (case.fits.tolist(), case.declared.tolist()) == ([0], [6])


@pytest.mark.parametrize(
    ("asks", "gpu", "declared"),
    [
        pytest.param({"cpu": "1"}, GpuNeed(), 8, id="cpu"),
        pytest.param({"cpu": "1", "nvidia.com/gpu": "1"}, GpuNeed(1, 1000), 4, id="gpus-by-name"),
        pytest.param({"cpu": "1"}, GpuNeed(0, 500), 8, id="shares-of-gpus"),
        pytest.param({"cpu": "1", "example.com/fpga": "1"}, GpuNeed(), 0, id="what-a-declared-node-does-not-have"),
    ],
)
def test_what_declared_nodes_take(asks: dict[str, str], gpu: GpuNeed, declared: int) -> None:
    shape: dict[str, Any] = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"}
    one = fleet(cluster("a").nodes(cpu="1", memory="1Gi", free={"cpu": "0"}).autoscales(2, **shape))
    on = ground(one)
    case = examine(on.fleet, workload(asks=asks, gpu=gpu), book=on.book, tally=on.tally, terms=Terms(), now=NOW)
    assert case.declared.tolist() == [declared]


nodes = st.tuples(st.integers(1, 4), st.integers(0, 8000), st.integers(0, 16), st.integers(0, 12))


@settings(max_examples=60, deadline=None)
@given(st.lists(nodes, min_size=1, max_size=6), st.integers(1, 4000), st.integers(1, 8))
def test_room_is_what_filling_node_by_node_would_find(
    rows: list[tuple[int, int, int, int]], cpu: int, gib: int
) -> None:
    built: ClusterBuilder = cluster("a")
    for count, free_cpu, free_gib, pods in rows:
        free = {"cpu": f"{free_cpu}m", "memory": f"{free_gib}Gi", "pods": str(pods)}
        built = built.nodes(count, cpu="8", memory="16Gi", pods="12", free=free)
    found = 0
    for count, free_cpu, free_gib, pods in rows:
        for _ in range(count):
            left = np.array([free_cpu, free_gib, pods])
            while (left >= (cpu, gib, 1)).all():
                left = left - (cpu, gib, 1)
                found += 1
    assert fits(fleet(built), workload(asks={"cpu": f"{cpu}m", "memory": f"{gib}Gi"})) == [found]
