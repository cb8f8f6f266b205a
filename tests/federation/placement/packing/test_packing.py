"""What a placement does to nodes: states once, fragmentation after FGD, and the factors that follow."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.nodes.change import shape_row
from federation.nodes.fill import FutureFill
from federation.nodes.fragment import Unfragmented
from federation.nodes.mix import Mix
from federation.nodes.offers import draw_offers
from federation.nodes.outlook import Wanted
from federation.nodes.outlook import mix_of as known_mix
from federation.nodes.rows import Rows
from federation.placement.factors.table import factors_of
from federation.placement.filters.examine import examine
from federation.placement.fleet.follow import follow
from federation.placement.packing.changes import Changes, judged, shape_of
from federation.placement.pipeline import ground
from federation.placement.scorer import FACTORS
from federation.placement.terms import Terms
from federation.placement.workload import GpuNeed, Workload
from federation.quantity import requested
from federation.snapshot import Snapshot
from prewarm.domain import FloatArray, IntArray
from tests.federation.building import NOW, ClusterBuilder, cluster, fleet, workload

GIB = 1 << 30
HALF, WHOLE, TWO, NONE = GpuNeed(0, 500), GpuNeed(1, 1000), GpuNeed(2, 1000), GpuNeed()


def mix_of(*parts: tuple[GpuNeed, float], cpu: str = "1") -> Mix:
    """A mix of instances of one core and 1 GiB (rounded up) with these GPUs and weights."""
    asks = {"cpu": requested("cpu", cpu), "memory": GIB}
    return known_mix([Wanted(asks, need, 0, int(weight)) for need, weight in parts], ())


def states(*gpus: tuple[int, ...], cpu: int = 8000) -> Rows:
    """Nodes that differ in their GPUs."""
    size = len(gpus)
    rows = np.array(gpus, dtype=np.int64).reshape(size, -1)
    return Rows(np.full(size, cpu), np.full(size, 32 << 10), np.zeros(size, dtype=np.int64), rows)


@pytest.mark.parametrize(
    ("need", "fits", "after"),
    [
        pytest.param(NONE, [True, True, True], [[1000, 1000, 300], [1000, 600, 500], [400, 400, 0]], id="no-gpu"),
        pytest.param(WHOLE, [True, True, False], [[0, 1000, 300], [0, 600, 500], None], id="a-free-one"),
        pytest.param(TWO, [True, False, False], [[0, 0, 300], None, None], id="two-free-ones"),
        pytest.param(GpuNeed(0, 1000), [True, True, False], [[0, 1000, 300], [0, 600, 500], None], id="a-full-share"),
        pytest.param(HALF, [True, True, False], [[500, 1000, 300], [500, 600, 500], None], id="the-gpu-that-is-said"),
    ],
)
def test_where_an_instance_fits_and_what_it_leaves(
    need: GpuNeed, fits: list[bool], after: list[list[int] | None]
) -> None:
    all_states = states((1000, 1000, 300), (1000, 600, 500), (400, 400, 0))
    shape = shape_row({"cpu": 1000, "memory": GIB}, need, mix_of((WHOLE, 1)))
    assert all_states.fits(shape).tolist() == fits
    for at, right in enumerate(after):
        if right is not None:
            left = all_states.take(np.array([at])).after(shape, np.zeros(1, dtype=np.int64))
            assert left.gpu.tolist() == [right]
            assert (left.cpu.tolist(), left.memory.tolist()) == ([7000], [31 << 10])


def test_a_node_without_cpu_or_memory_takes_nothing() -> None:
    shape = shape_row({"cpu": 1000, "memory": GIB}, WHOLE, mix_of((WHOLE, 1)))
    assert states((1000,), cpu=500).fits(shape).tolist() == [False]
    small = states((1000,))
    assert Rows(small.cpu, np.array([1023]), small.model, small.gpu).fits(shape).tolist() == [False]


def _fragment(mix: Mix, *gpus: tuple[int, ...], cpu: int = 8000) -> list[float]:
    """F of nodes with these GPUs."""
    found: list[float] = (-Unfragmented(mix).value(states(*gpus, cpu=cpu))).tolist()
    return found


def test_fragments_by_hand() -> None:
    assert _fragment(mix_of((WHOLE, 3)), (1000, 600), (400, 400), (1000, 1000)) == [600.0, 800.0, 0.0]
    assert _fragment(mix_of((HALF, 1)), (1000, 400), (400, 400)) == [400.0, 800.0]
    assert _fragment(mix_of((WHOLE, 3), (HALF, 1)), (1000, 400)) == [400.0]
    assert _fragment(mix_of((WHOLE, 3), (HALF, 1)), (600, 0)) == [0.75 * 600 + 0.25 * 0]
    assert _fragment(mix_of((WHOLE, 1), cpu="9"), (1000, 1000)) == [2000.0]
    assert _fragment(mix_of((NONE, 1)), (1000, 700)) == [1700.0]
    assert _fragment(mix_of((TWO, 1)), (1000, 500)) == [1500.0]


shares = st.lists(st.integers(0, 10).map(lambda tenth: 100 * tenth), min_size=3, max_size=3).map(tuple)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(shares, min_size=1, max_size=4),
    st.integers(0, 8000),
    st.lists(st.sampled_from([NONE, HALF, WHOLE, TWO]), min_size=1, max_size=4),
)
def test_fragments_against_a_plain_reading_of_the_paper(
    gpus: list[tuple[int, ...]], cpu: int, needs: list[GpuNeed]
) -> None:
    mix = [(need, 1 + at) for at, need in enumerate(needs)]
    for node, found in zip(gpus, _fragment(mix_of(*mix, cpu="2"), *gpus, cpu=cpu), strict=True):
        total = 0.0
        for need, weight in mix:
            least = 1000 if need.count else need.milli
            able = cpu >= 2000 and least > 0 and sum(g >= least for g in node) >= max(need.count, 1)
            total += weight * (sum(g for g in node if g < least) if able else sum(node))
        assert found == pytest.approx(total / sum(weight for _, weight in mix))


@dataclass
class Counting:
    """A measure that counts what it is asked: free thousandths of GPUs, negative."""

    mix: Mix
    asked: list[int] = field(default_factory=list)

    def value(self, rows: Rows) -> FloatArray:
        """Minus the free share."""
        self.asked.append(len(rows))
        value: FloatArray = -rows.gpu.sum(axis=1).astype(np.float64)
        return value

    def beside(self, after: Rows, shape: IntArray) -> FloatArray:
        """Nothing."""
        del shape
        return np.zeros(len(after))


def _gpu_cluster(name: str, *gpus: tuple[int, ...]) -> ClusterBuilder:
    one = cluster(name)
    for shares in gpus:
        one = one.nodes(cpu="8", memory="32Gi", gpus=shares)
    return one


def factor(name: str, snapshot: Snapshot, asked: Workload, terms: Terms) -> list[float]:
    """One factor by cluster."""
    on = ground(snapshot)
    case = examine(on.fleet, asked, book=on.book, tally=on.tally, terms=terms, now=NOW)
    values: list[float] = factors_of(case)[:, FACTORS.index(name)].tolist()
    return values


def test_the_cluster_whose_best_node_stays_most_useful_is_preferred() -> None:
    three = fleet(
        _gpu_cluster("a", (1000, 1000), (500, 0)),
        _gpu_cluster("b", (1000, 1000)),
        _gpu_cluster("c", (300, 200)),
    )
    terms = Terms(fragmentation=Changes(Unfragmented(mix_of((WHOLE, 1)))))
    half = workload(asks={"cpu": "1", "memory": "1Gi"}, gpu=HALF)
    values = factor("fragmentation", three, half, terms)
    assert values[0] == pytest.approx(1 / (1 + np.exp(-0.5)))
    assert values[1] == pytest.approx(1 / (1 + np.exp(0.5)))
    assert values[2] == 0.0


def test_future_fill_weighs_what_others_lose_against_what_is_taken() -> None:
    # whole GPUs come and come: a half on a free GPU costs them 1,000, on a half-used one nothing
    three = fleet(_gpu_cluster("a", (1000,)), _gpu_cluster("b", (0,)), _gpu_cluster("c", (500,)))
    half, mix = workload(asks={"cpu": "1", "memory": "1Gi"}, gpu=HALF), mix_of((WHOLE, 1))
    offers = draw_offers(mix, np.full((1, 1), 60.0), seed=1)
    values = factor("future_fill", three, half, Terms(future_fill=Changes(FutureFill(mix, offers))))
    assert values == pytest.approx([1 / (1 + np.exp(0.5)), 0.0, 1 / (1 + np.exp(-0.5))], abs=1e-3)


def test_without_a_mix_both_are_neutral() -> None:
    one = fleet(_gpu_cluster("a", (1000,)), cluster("b"))
    for name in ("fragmentation", "future_fill"):
        assert factor(name, one, workload(), Terms()) == [0.5, 0.5]


def test_a_state_is_judged_once_for_a_shape_however_many_rows_and_clusters_have_it() -> None:
    measure = Counting(mix_of((WHOLE, 1)))
    changes = Changes(measure)
    half = workload(asks={"cpu": "1", "memory": "1Gi"}, gpu=HALF)
    columns = follow(fleet(_gpu_cluster("a", (1000,), (700,)), _gpu_cluster("b", (1000,), (700,), (600,))))
    first = changes.of(columns, half)
    assert measure.asked == [6]
    again = changes.of(columns, replace(half, key="shop/other"))
    assert measure.asked == [6]
    assert again.tolist() == first.tolist() == [500.0] * 5
    more = follow(fleet(_gpu_cluster("a", (1000,), (900,)), _gpu_cluster("b", (1000,), (700,), (600,))), columns)
    changes.of(more, half)
    assert measure.asked == [6, 2]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(shares, max_size=3), min_size=1, max_size=3), st.sampled_from([NONE, HALF, WHOLE]))
def test_remembered_changes_are_those_that_would_be_worked_out_anew(
    gpus: list[list[tuple[int, ...]]], need: GpuNeed
) -> None:
    mix = mix_of((WHOLE, 1), (HALF, 2))
    asked = workload(asks={"cpu": "1", "memory": "1Gi"}, gpu=need)
    warmed, columns = Changes(Unfragmented(mix)), None
    for _ in range(3):
        gpus = [*gpus[1:], gpus[0]]
        snapshot = fleet(*(_gpu_cluster(f"c{at}", *rows) for at, rows in enumerate(gpus)))
        columns = follow(snapshot, columns)
        anew = Changes(Unfragmented(mix)).of(columns, asked)
        assert np.array_equal(warmed.of(columns, asked), anew, equal_nan=True)


def _impatient() -> Changes:
    return Changes(Unfragmented(mix_of((WHOLE, 1))), patient=False)


def test_what_is_not_judged_is_left_out_until_somebody_has_judged_it_elsewhere() -> None:
    changes, half = _impatient(), workload(asks={"cpu": "1", "memory": "1Gi"}, gpu=HALF)
    columns = follow(fleet(_gpu_cluster("a", (1000,), (500,)), _gpu_cluster("b", (1000,))))
    every = np.ones(2, dtype=np.bool_)  # states: a whole GPU free, which both clusters have, and half of one
    assert changes.best(columns, half, every) is None
    assert changes.behind == {shape_of(half.requests, HALF)}
    task = changes.missing(columns, changes.shapes)
    assert task is not None
    changes.learn(task, judged(task.question))
    assert changes.missing(columns, changes.shapes) is None
    assert changes.behind == set()
    best = changes.best(columns, half, every)
    assert best is not None
    assert best.tolist() == [500.0, -500.0]
    # a new state in a cluster that has a judged one is left out, and counts for nothing
    more = follow(fleet(_gpu_cluster("a", (1000,), (700,)), _gpu_cluster("b", (1000,))), columns)
    every = np.ones(3, dtype=np.bool_)
    best = changes.best(more, half, every)
    assert best is not None
    assert best.tolist() == [-500.0, -500.0]
    # a cluster that cannot take it is no reason to be silent
    assert changes.best(more, half, np.zeros(3, dtype=np.bool_)) is not None
    every = np.ones(4, dtype=np.bool_)
    only = follow(fleet(_gpu_cluster("a", (700,), (600,)), _gpu_cluster("b", (1000,))), more)
    assert changes.best(only, half, every) is None


def test_a_finding_that_no_longer_fits_is_dropped() -> None:
    changes, half = _impatient(), workload(asks={"cpu": "1", "memory": "1Gi"}, gpu=HALF)
    columns = follow(fleet(_gpu_cluster("a", (1000,), (500,))))
    changes.of(columns, half)
    task = changes.missing(columns, changes.shapes)
    assert task is not None
    changes.learn(task, judged(task.question))
    changes.learn(task, judged(task.question))  # twice
    assert np.isfinite(changes.of(columns, half)).tolist() == [True, True]
    other = follow(fleet(_gpu_cluster("a", (1000,), (500,), (200,))))  # another frame: numbers mean something else
    changes.learn(task, judged(task.question))
    assert np.isnan(changes.of(other, half)).all()


def test_memory_is_bounded_and_the_shape_that_was_not_asked_for_longest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("federation.placement.packing.changes.MOST_FIGURES", 6)
    changes = Changes(Unfragmented(mix_of((WHOLE, 1))))
    columns = follow(fleet(_gpu_cluster("a", (1000,), (500,))))
    asked = [workload(asks={"cpu": str(cores), "memory": "1Gi"}, gpu=HALF) for cores in range(1, 5)]
    shapes = [shape_of(one.requests, HALF) for one in asked]
    for one in asked[:3]:
        changes.of(columns, one)
    changes.of(columns, asked[0])
    changes.of(columns, asked[3])
    assert changes.shapes == (shapes[2], shapes[0], shapes[3])
