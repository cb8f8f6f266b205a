"""What is worked out for states of nodes is what would be worked out for every row."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.fleet.follow import follow
from federation.placement.fleet.room import LARGE, Ask, ask_of, row_room, state_room
from federation.placement.fleet.rows import Rows
from federation.placement.fleet.states import state_table
from federation.placement.workload import GpuNeed
from federation.snapshot import CPU, Snapshot
from prewarm.domain import IntArray
from tests.federation.building import ClusterBuilder, cluster, fleet, workload

rows = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 4), st.sampled_from([(), (1000,), (500, 200)]), st.booleans()),
    max_size=5,
)
needs = st.sampled_from([GpuNeed(), GpuNeed(1, 1000), GpuNeed(0, 250), GpuNeed(0, 1000)])


def _built(name: str, nodes: list[tuple[int, int, tuple[int, ...], bool]]) -> ClusterBuilder:
    built = cluster(name)
    for count, free, gpus, open_ in nodes:
        built = built.nodes(count, cpu="4", memory="8Gi", free={"cpu": str(free)}, gpus=gpus, schedulable=open_)
    return built


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(rows, min_size=2, max_size=2), min_size=1, max_size=4), st.integers(0, 3000), needs)
def test_room_of_states_is_room_of_rows_however_the_fleet_changed(
    past: list[list[list[tuple[int, int, tuple[int, ...], bool]]]], cpu: int, need: GpuNeed
) -> None:
    columns = None
    for clusters in past:
        columns = follow(fleet(*(_built(name, nodes) for name, nodes in zip("ab", clusters, strict=True))), columns)
        ask = ask_of(columns, workload(asks={"cpu": f"{cpu}m"}, gpu=need))
        by_state = state_room(columns, ask)[columns.numbers]
        assert by_state.tolist() == row_room(columns.rows, ask).tolist()
        states = columns.frame.states.rows
        assert states.open[columns.numbers].tolist() == columns.rows.open.tolist()
        assert np.array_equal(states.free[:, columns.numbers], columns.rows.free)
        assert np.array_equal(states.gpu_free[columns.numbers], columns.rows.gpu_free)


def test_a_state_has_one_number_and_is_judged_once() -> None:
    two = cluster("a").nodes(3, cpu="4", memory="8Gi").nodes(2, cpu="4", memory="8Gi").nodes(1, cpu="2", memory="8Gi")
    columns = follow(fleet(two, _built("b", [(1, 4, (), True)])))
    assert columns.numbers.tolist() == [0, 0, 1, 0]
    asked: list[int] = []

    def judge(some: Rows) -> IntArray:
        asked.append(len(some))
        found: IntArray = some.free[CPU]
        return found

    table = columns.frame.states
    assert table.judged("cpu", judge).tolist() == [4000, 2000]
    more = follow(fleet(two, _built("b", [(1, 3, (), True)])), columns)
    assert more.numbers.tolist() == [0, 0, 1, 2]
    assert table.judged("cpu", judge).tolist() == [4000, 2000, 3000]
    assert table.judged("cpu", judge).tolist() == [4000, 2000, 3000]
    assert asked == [2, 1]


def test_a_fleet_of_nothing_has_no_states() -> None:
    columns = follow(Snapshot(0.0, ()))
    assert len(columns.frame.states) == 0
    assert state_room(columns, Ask(((0, 1),), (), GpuNeed())).tolist() == []
    assert row_room(state_table(3, 0).rows, Ask((), (), GpuNeed())).tolist() == []
    one = follow(fleet(cluster("a").nodes(cpu="1", memory="1Gi")))
    assert state_room(one, Ask((), (), GpuNeed())).tolist() == [LARGE]
