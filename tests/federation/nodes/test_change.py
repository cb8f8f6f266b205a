"""The gain of a placement on single nodes: by hand, NaN where nothing fits, and one fragment in numpy and compiled."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.nodes.change import gain, gains, shape_row
from federation.nodes.fill import FutureFill
from federation.nodes.fragment import Unfragmented, expected_fragment
from federation.nodes.kernels import MOST_GPUS, fragment
from federation.nodes.mix import Mix, any_model
from federation.nodes.outlook import Room, offers_to_come
from federation.nodes.rows import Rows
from federation.placement.workload import GpuNeed
from prewarm.domain import IntArray


def nodes_of(cpu: list[int], gpu: list[list[int]], models: list[int] | None = None) -> Rows:
    """Nodes with plenty of memory."""
    wide = max(map(len, gpu))
    padded = np.array([one + [0] * (wide - len(one)) for one in gpu], dtype=np.int64).reshape(len(cpu), wide)
    return Rows(np.array(cpu), np.full(len(cpu), 100), np.array(models or [0] * len(cpu)), padded)


def mix_of(shapes: list[list[int]], weights: list[float]) -> Mix:
    table: IntArray = np.array(shapes, dtype=np.int64)
    return Mix(table, np.array(weights), any_model(table))


def fragment_gain(nodes: Rows, need: GpuNeed, mix: Mix) -> tuple[list[float], list[int]]:
    """FGD's gradient for an instance of one core: by how much F falls, and the GPU."""
    gains, device = gain(nodes, shape_row({"cpu": 1_000}, need, mix), Unfragmented(mix))
    return gains.tolist(), device.tolist()


def fill_gain(nodes: Rows, need: GpuNeed, mix: Mix, arrivals: float) -> list[float]:
    """The gain of future fill for an instance of one core, where every node has room for every shape."""
    free = Room(np.full(len(mix.shapes), float(len(nodes))), float(len(nodes)), 1e9, 1e9)
    offers = offers_to_come(mix, np.array([arrivals]), free, None)
    found: list[float] = gain(nodes, shape_row({"cpu": 1_000}, need, mix), FutureFill(mix, offers))[0].tolist()
    return found


HALVES = mix_of([[1_000, 1, 1, 500], [1_000, 1, 1, 1_000]], [0.5, 0.5])


def test_the_fragment_of_a_node_by_hand() -> None:
    # 1,000 and 400 free: halves cannot use the 400; whole GPUs neither; so 400 of 1,400 is of no use to anybody
    assert expected_fragment(nodes_of([9_000], [[1_000, 400]]), HALVES).tolist() == [400.0]
    # without CPU everything is
    assert expected_fragment(nodes_of([500], [[1_000, 400]]), HALVES).tolist() == [1_400.0]


def test_the_gradient_is_the_difference_of_the_two_fragments() -> None:
    # a half on the empty GPU leaves 500, of no use to whole GPUs: F rises from 0 to 250
    assert fragment_gain(nodes_of([9_000], [[1_000]]), GpuNeed(milli=500), HALVES)[0] == [-250.0]
    # on the half-used one F falls from 250 to 0
    assert fragment_gain(nodes_of([9_000], [[500]]), GpuNeed(milli=500), HALVES)[0] == [250.0]


def test_a_share_goes_to_the_gpu_that_it_completes() -> None:
    nodes = nodes_of([9_000, 9_000, 9_000], [[1_000, 500], [1_000, 1_000], [400, 300]])
    gains, device = fragment_gain(nodes, GpuNeed(milli=500), HALVES)
    assert device == [1, 0, -1]
    assert np.isnan(gains).tolist() == [False, False, True]
    assert fragment_gain(nodes, GpuNeed(count=1), HALVES)[1] == [-1, -1, -1]


def test_a_model_that_is_not_asked_for_does_not_fit() -> None:
    table = np.array([[1_000, 1, 1, 1_000]])
    mix = Mix(table, np.array([1.0]), any_model(table, 2), ("A10", "T4"))
    nodes = nodes_of([9_000, 9_000, 9_000], [[1_000], [1_000], [1_000]], [0, 1, 2])
    only, anywhere = GpuNeed(count=1, models=("T4",)), GpuNeed(count=1)
    assert np.isnan(fragment_gain(nodes, only, mix)[0]).tolist() == [True, False, True]
    assert np.isnan(fragment_gain(nodes, anywhere, mix)[0]).tolist() == [False, False, False]


def test_future_fill_prefers_the_node_whose_rest_is_of_no_use() -> None:
    # only whole GPUs will come; a half on a half-used GPU costs nobody anything, on a free one it costs 1,000
    mix = mix_of([[1_000, 1, 1, 1_000]], [1.0])
    nodes = nodes_of([9_000, 9_000], [[1_000], [500]])
    assert fill_gain(nodes, GpuNeed(milli=500), mix, 1_000.0) == pytest.approx([-500.0, 500.0], abs=1.0)


def test_with_nothing_to_come_the_fuller_node_is_preferred_by_less_than_a_thousandth() -> None:
    gains = fill_gain(nodes_of([9_000, 9_000], [[1_000], [500]]), GpuNeed(milli=500), HALVES, 0.0)
    assert 500.0 > gains[1] > gains[0] > 499.0


def test_a_fleet_without_gpus_is_judged_by_cpu() -> None:
    # 2-core pods will come: one core on the node with three spares two for them, on the node with two it does not
    mix = mix_of([[2_000, 1, 0, 0]], [1.0])
    gains = fill_gain(nodes_of([3_000, 2_000], [[], []]), GpuNeed(), mix, 1_000.0)
    assert gains == pytest.approx([1_000.0, -1_000.0], abs=1.0)


node = st.lists(st.integers(0, 10).map(lambda tenth: 100 * tenth), min_size=1, max_size=MOST_GPUS)
shape = st.tuples(
    st.integers(0, 5).map(lambda cores: 1_000 * cores),
    st.sampled_from([(0, 0), (1, 200), (1, 500), (1, 810), (1, 1_000), (2, 1_000), (4, 1_000)]),
    st.integers(1, 7),
)


@settings(max_examples=150, deadline=None)
@given(node, st.integers(0, 6_000), st.integers(0, 2), st.lists(shape, min_size=1, max_size=5, unique=True))
def test_the_compiled_fragment_is_the_same_function(
    gpu: list[int], cpu: int, model: int, shapes: list[tuple[int, tuple[int, int], int]]
) -> None:
    table = np.array([[cores, 0, *gpus] for cores, gpus, _ in shapes], dtype=np.int64)
    allowed = (np.array([bits for *_, bits in shapes])[:, None] >> np.arange(3)) & 1 == 1
    share = np.arange(1.0, len(shapes) + 1)
    mix = Mix(table, share / share.sum(), allowed, ("A", "B"))
    one = nodes_of([cpu], [gpu], [model])
    padded = np.array([*gpu, *[0] * (MOST_GPUS - len(gpu))])
    compiled = fragment(np.array([cpu, 10, model, len(gpu)]), padded, mix.table, mix.probability)
    assert expected_fragment(one, mix)[0] == pytest.approx(compiled)


@settings(max_examples=40, deadline=None)
@given(st.lists(node, min_size=1, max_size=4), st.lists(shape, min_size=1, max_size=4))
def test_several_shapes_at_once_are_judged_as_one_by_one(
    gpus: list[list[int]], shapes: list[tuple[int, tuple[int, int], int]]
) -> None:
    rows = nodes_of([6_000] * len(gpus), [sorted(one, reverse=True) for one in gpus])
    asked = [
        shape_row({"cpu": cores}, GpuNeed(*((0, milli) if milli < 1_000 else (count, milli))), HALVES)
        for cores, (count, milli), _ in shapes
    ]
    together = gains(rows, asked, Unfragmented(HALVES))
    for one, found in zip(asked, together, strict=True):
        assert np.array_equal(found, gain(rows, one, Unfragmented(HALVES))[0], equal_nan=True)
