"""Changes by placement on rows of a cluster: worked by hand, NaN where nothing fits, and against the FGD kernel."""

import numpy as np
import pytest

from federation.nodes import Mix, best_gpu, fragmentation_change, future_fill_change
from federation.nodes.change import expected_fragment
from federation.nodes.kernels import fragment
from federation.nodes.mix import any_model
from federation.nodes.rows import Rows, rows_of
from federation.placement.workload import GpuNeed
from federation.snapshot import NodeClass, Nodes
from prewarm.domain import IntArray

MIB = 1 << 20
LABEL = "nvidia.com/gpu.product"


def nodes_of(cpu: list[int], gpu: list[list[int]], models: list[str] | None = None) -> Nodes:
    """Rows of one node each, with plenty of memory."""
    count = len(cpu)
    kinds = sorted(set(models or [""]))
    classes = tuple(NodeClass(((LABEL, name),) if name else ()) for name in kinds)
    allocatable = np.array([[one, 100 * MIB, 100] for one in cpu], dtype=np.int64)
    return Nodes(
        ("cpu", "memory", "pods"),
        classes,
        np.array([kinds.index(name) for name in (models or [""] * count)], dtype=np.int32),
        np.ones(count, dtype=np.int32),
        allocatable,
        np.zeros_like(allocatable),
        np.full((count, 2), np.nan),
        np.array(gpu, dtype=np.int16).reshape(count, -1),
        np.ones(count, dtype=bool),
    )


def mix_of(shapes: list[list[int]], weights: list[float]) -> Mix:
    table: IntArray = np.array(shapes, dtype=np.int64)
    return Mix(table, np.array(weights), any_model(table))


HALVES = mix_of([[1_000, 1, 1, 500], [1_000, 1, 1, 1_000]], [0.5, 0.5])


def test_the_fragment_of_a_node_by_hand() -> None:
    # 1,000 and 400 free: halves cannot use the 400; whole GPUs neither; so 400 of 1,400 is of no use to anybody
    rows = rows_of(nodes_of([9_000], [[1_000, 400]]), ())
    assert expected_fragment(rows, HALVES).tolist() == [400.0]
    # without CPU everything is
    assert expected_fragment(rows_of(nodes_of([500], [[1_000, 400]]), ()), HALVES).tolist() == [1_400.0]


def test_the_change_is_the_difference_of_the_two_fragments() -> None:
    # a half on the empty GPU leaves 500, of no use to whole GPUs: F rises from 0 to 250
    change = fragmentation_change(nodes_of([9_000], [[1_000]]), {"cpu": 1_000}, GpuNeed(milli=500), HALVES)
    assert change.tolist() == [250.0]
    # on the half-used one F falls from 250 to 0
    change = fragmentation_change(nodes_of([9_000], [[500]]), {"cpu": 1_000}, GpuNeed(milli=500), HALVES)
    assert change.tolist() == [-250.0]


def test_a_share_goes_to_the_gpu_that_it_completes() -> None:
    nodes = nodes_of([9_000, 9_000, 9_000], [[1_000, 500], [1_000, 1_000], [400, 300]])
    assert best_gpu(nodes, {"cpu": 1_000}, GpuNeed(milli=500), HALVES).tolist() == [1, 0, -1]
    assert best_gpu(nodes, {"cpu": 1_000}, GpuNeed(count=1), HALVES).tolist() == [-1, -1, -1]


def test_where_it_does_not_fit_nothing_is_said() -> None:
    nodes = nodes_of([9_000, 100], [[400], [1_000]])
    assert np.isnan(fragmentation_change(nodes, {"cpu": 1_000}, GpuNeed(milli=500), HALVES)).all()
    assert np.isnan(future_fill_change(nodes, {"cpu": 1_000}, GpuNeed(milli=500), HALVES, 10.0)).all()


def test_a_model_that_is_not_asked_for_does_not_fit() -> None:
    table = np.array([[1_000, 1, 1, 1_000]])
    mix = Mix(table, np.array([1.0]), any_model(table, 2), ("A10", "T4"))
    nodes = nodes_of([9_000, 9_000], [[1_000], [1_000]], ["A10", "T4"])
    change = fragmentation_change(nodes, {"cpu": 1_000}, GpuNeed(count=1, models=("T4",)), mix)
    assert np.isnan(change).tolist() == [True, False]


def test_future_fill_prefers_the_node_whose_rest_is_of_no_use() -> None:
    # only whole GPUs will come; a half on a half-used GPU costs nobody anything, on a free one it costs 1,000
    mix = mix_of([[1_000, 1, 1, 1_000]], [1.0])
    nodes = nodes_of([9_000, 9_000], [[1_000], [500]])
    lost = future_fill_change(nodes, {"cpu": 1_000}, GpuNeed(milli=500), mix, 1_000.0)
    assert lost.tolist() == pytest.approx([500.0, -500.0], abs=1e-6)


def test_with_nothing_to_come_only_the_demand_counts() -> None:
    nodes = nodes_of([9_000, 9_000], [[1_000], [500]])
    lost = future_fill_change(nodes, {"cpu": 1_000}, GpuNeed(milli=500), HALVES, 0.0)
    assert lost.tolist() == [-500.0, -500.0]


def test_a_fleet_without_gpus_is_judged_by_cpu() -> None:
    # 2-core pods will come: one core on the node with three spares two for them, on the node with two it does not
    mix = mix_of([[2_000, 1, 0, 0]], [1.0])
    lost = future_fill_change(nodes_of([3_000, 2_000], [[], []]), {"cpu": 1_000}, GpuNeed(), mix, 1_000.0)
    assert lost.tolist() == pytest.approx([-1_000.0, 1_000.0], abs=1e-6)


@pytest.mark.parametrize("gpu", [[1_000, 1_000, 300], [500, 0, 700], [0, 0, 0]])
@pytest.mark.parametrize("cpu", [800, 5_000])
def test_numpy_and_the_kernel_agree_on_the_fragment(gpu: list[int], cpu: int) -> None:
    mix = mix_of([[1_000, 0, 1, 500], [4_000, 0, 2, 1_000], [700, 0, 0, 0], [900, 0, 1, 250]], [0.4, 0.1, 0.2, 0.3])
    rows = Rows(np.array([cpu]), np.array([10]), np.array([0]), np.array([gpu]))
    padded = np.array([*gpu, 0, 0, 0, 0, 0])
    kernel = fragment(np.array([cpu, 10, 0, 3]), padded, mix.table, mix.probability)
    assert expected_fragment(rows, mix)[0] == pytest.approx(kernel)
