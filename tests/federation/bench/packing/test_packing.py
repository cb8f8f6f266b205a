"""The openb benchmark on small fleets: protocol, rules by hand, bound above everybody, and our rule's promises."""

from pathlib import Path

import numpy as np
import pytest

from federation.bench.packing.baselines import AnyNode, Gradient, Scored
from federation.bench.packing.bound import allocation_bound
from federation.bench.packing.fleet import Rule, run_course
from federation.bench.packing.ours import FORECAST_SEEDS, Foreseen, expected_arrivals, foresee_room, learned_mix
from federation.bench.packing.run import FIRST_SEED, PUBLISHED, RULES, SEEDS
from federation.bench.packing.trace import Arrivals, Trace, draw_arrivals, read_trace, typical_shapes
from federation.nodes.mix import Mix, any_model
from federation.nodes.offers import STRETCHES
from prewarm.domain import InputError

SHAPES = np.array(
    [[3_000, 10, 1, 810], [4_000, 10, 1, 500], [8_000, 10, 1, 1_000], [6_000, 10, 0, 0], [20_000, 10, 2, 1_000]]
)


def small_trace(nodes: int = 12, pods: int = 120) -> Trace:
    machines = np.array([[32_000, 1_000, 0, 4] if at % 3 else [24_000, 1_000, 0, 2] for at in range(nodes)])
    gpus = np.where(np.arange(8)[None, :] < machines[:, 3:], 1_000, 0).astype(np.int64)
    drawn = np.random.default_rng(0).choice(len(SHAPES), pods, p=[0.3, 0.3, 0.25, 0.1, 0.05])
    probability = np.bincount(drawn, minlength=len(SHAPES)) / pods
    return Trace(machines, gpus, Mix(SHAPES, probability, any_model(SHAPES)), drawn)


def every_rule(trace: Trace) -> dict[str, Rule]:
    typical = typical_shapes(trace.mix, np.bincount(trace.pods, minlength=len(SHAPES)))
    rules: dict[str, Rule] = {name: Scored(name) for name in ("BestFit", "DotProd", "Clustering", "Packing")}
    rules |= {"Random": AnyNode(np.random.default_rng(0)), "FGD": Gradient(*typical)}
    return rules | {"ours": Foreseen(trace.mix, expected_arrivals(trace, 1.3))}


@pytest.mark.parametrize("ratio", [0.5, 1.3])
def test_arrivals_reach_the_load_and_no_more(ratio: float) -> None:
    trace = small_trace()
    arrivals = draw_arrivals(trace, 42, ratio)
    asked = trace.mix.demand[arrivals.shape].sum() / trace.capacity
    assert ratio - 2_000 / trace.capacity <= asked <= ratio + 1_000 / trace.capacity
    assert sorted(arrivals.order.tolist()) == list(range(12))
    assert np.array_equal(arrivals.shape, draw_arrivals(trace, 42, ratio).shape)
    assert not np.array_equal(arrivals.shape, draw_arrivals(trace, 43, ratio).shape)


def test_more_pods_are_clones_after_the_whole_list() -> None:
    trace = small_trace(nodes=40)
    arrivals = draw_arrivals(trace, 1, 1.3)
    assert sorted(arrivals.shape[: len(trace.pods)].tolist()) == sorted(trace.pods.tolist())
    assert len(arrivals.shape) > len(trace.pods)


def test_typical_pods_cover_most_of_the_list_without_memory() -> None:
    trace = small_trace()
    table, weight = typical_shapes(trace.mix, np.array([60, 30, 8, 2, 0]))
    assert table[:, 3].tolist() == [810, 500, 1_000]
    assert table[:, 1].tolist() == [0, 0, 0]
    assert weight.tolist() == pytest.approx([60 / 98, 30 / 98, 8 / 98])


@pytest.mark.parametrize("name", [*RULES, "ours"])
def test_no_rule_over_commits_or_turns_away_what_fits(name: str) -> None:
    trace = small_trace()
    arrivals = draw_arrivals(trace, 7, 1.3)
    course = run_course(trace, arrivals, every_rule(trace)[name])
    nodes, gpus = trace.nodes[arrivals.order].copy(), trace.gpus[arrivals.order]
    for shape, node in zip(arrivals.shape.tolist(), course.node.tolist(), strict=True):
        if node >= 0:
            nodes[node, :2] -= SHAPES[shape, :2]
    assert np.array_equal(nodes[:, :2], course.fleet.nodes[:, :2])
    assert nodes[:, :2].min() >= 0
    assert course.fleet.gpus.min() >= 0
    taken = trace.mix.demand[arrivals.shape][course.node >= 0].sum()
    assert gpus.sum() - course.fleet.gpus.sum() == taken
    assert course.allocated[-1] == pytest.approx(taken / trace.capacity)
    refused = set(arrivals.shape[course.node < 0].tolist())
    last = {shape: np.flatnonzero((arrivals.shape == shape) & (course.node >= 0)).max(initial=-1) for shape in refused}
    first = {shape: np.flatnonzero((arrivals.shape == shape) & (course.node < 0)).min() for shape in refused}
    assert all(last[shape] < first[shape] for shape in refused)  # room never comes back, so refusal is for good


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_bound_is_above_every_rule(seed: int) -> None:
    trace = small_trace()
    arrivals = draw_arrivals(trace, seed, 1.3)
    bound = allocation_bound(trace, np.bincount(arrivals.shape, minlength=len(SHAPES)))
    for rule in every_rule(trace).values():
        assert run_course(trace, arrivals, rule).allocated[-1] <= bound + 1e-9
    assert bound <= 1.0


def test_the_bound_by_hand() -> None:
    machines = np.array([[10_000, 1_000, 0, 1], [10_000, 1_000, 0, 1]])
    gpus = np.zeros((2, 8), dtype=np.int64)
    gpus[:, 0] = 1_000
    mix = Mix(SHAPES, np.full(5, 0.2), any_model(SHAPES))
    trace = Trace(machines, gpus, mix, np.arange(5))
    # one of 810 and one of 500: each on its own GPU
    assert allocation_bound(trace, np.array([1, 1, 0, 0, 0])) == pytest.approx(0.655)
    # two GPUs full of halves, CPU for five: full
    assert allocation_bound(trace, np.array([0, 9, 0, 0, 0])) == pytest.approx(1.0)
    # nothing asks for a GPU
    assert allocation_bound(trace, np.array([0, 0, 0, 5, 0])) == 0.0


def test_pooled_cpu_limits_the_bound() -> None:
    machines = np.array([[8_000, 1_000, 0, 2]])
    gpus = np.zeros((1, 8), dtype=np.int64)
    gpus[0, :2] = 1_000
    trace = Trace(machines, gpus, Mix(SHAPES, np.full(5, 0.2), any_model(SHAPES)), np.arange(5))
    assert allocation_bound(trace, np.array([0, 0, 5, 0, 0])) == pytest.approx(0.5)


def test_best_fit_fills_the_fuller_node_and_fgd_keeps_the_whole_gpu() -> None:
    trace = small_trace(nodes=2, pods=60)
    order = np.array([1, 0])
    arrivals = Arrivals(np.array([1, 1]), order)
    assert run_course(trace, arrivals, Scored("BestFit")).node.tolist() == [1, 1]  # the node of 24 cores and 2 GPUs
    course = run_course(trace, arrivals, every_rule(trace)["FGD"])
    assert sorted(course.fleet.gpus[course.node[0]].tolist())[:8].count(0) >= 1  # both halves on one GPU


def test_clustering_joins_its_own_kind() -> None:
    trace = small_trace(nodes=3, pods=60)
    arrivals = Arrivals(np.array([2, 1, 2, 1]), np.array([0, 1, 2]))
    node = run_course(trace, arrivals, Scored("Clustering")).node.tolist()
    assert node[0] == node[2]
    assert node[1] == node[3]
    assert node[0] != node[1]


def test_our_rule_decides_from_what_has_come() -> None:
    """The first half of a run is decided the same whatever comes later."""
    trace = small_trace()
    arrivals = draw_arrivals(trace, 5, 1.3)
    half = len(arrivals.shape) // 2
    expected = expected_arrivals(trace, 1.3)
    whole = run_course(trace, arrivals, Foreseen(trace.mix, expected)).node[:half]
    alone = run_course(trace, Arrivals(arrivals.shape[:half], arrivals.order), Foreseen(trace.mix, expected)).node
    assert np.array_equal(whole, alone)


def test_the_mix_is_learned_from_other_seeds_and_foresight_is_of_a_sample() -> None:
    trace = small_trace(nodes=10, pods=40)
    mix = learned_mix(trace, 1.3)
    came = np.concatenate([draw_arrivals(trace, seed, 1.3).shape for seed in FORECAST_SEEDS])
    assert mix.probability.tolist() == pytest.approx((np.bincount(came, minlength=5) / len(came)).tolist())
    assert mix.probability.tolist() != trace.mix.probability.tolist()
    assert not set(FORECAST_SEEDS) & set(range(FIRST_SEED, FIRST_SEED + SEEDS))
    decline = foresee_room(trace, mix, expected_arrivals(trace, 1.3))
    assert decline.shape == (len(SHAPES), STRETCHES)
    assert (decline[:, -1] <= decline[:, 0]).all()


def test_published_rows_are_complete() -> None:
    assert all(len(row) == len(RULES) for row in PUBLISHED.values())


def test_the_trace_is_read_as_it_stands(tmp_path: Path) -> None:
    folder = tmp_path / "alibaba-gpu-v2023"
    folder.mkdir()
    (folder / "openb_node_list_gpu_node.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,T4\nb,32000,1000,1,G2\n"
    )
    (folder / "openb_pod_list_default.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
        "p0,1000,10,1,500,T4|V9\np1,1000,10,1,500,\np2,2000,20,0,0,\np3,1000,10,1,500,\n"
    )
    trace = read_trace(tmp_path, "default")
    assert trace.capacity == 3_000
    assert trace.mix.models == ("G2", "T4")
    assert sorted(trace.mix.probability.tolist()) == [0.25, 0.25, 0.5]
    narrow = trace.mix.allowed[trace.pods[0]].tolist()
    assert narrow == [False, True, False]
    assert trace.mix.allowed[trace.pods[1]].all()
    with pytest.raises(InputError, match="not found"):
        read_trace(tmp_path, "cpu250")
