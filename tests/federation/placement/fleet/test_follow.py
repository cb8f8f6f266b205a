"""Columns that follow a changing fleet are those that would be made from nothing."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.follow import follow
from federation.snapshot import Snapshot
from tests.federation.building import ClusterBuilder, cluster, fleet


def _same(ours: FleetColumns, fresh: FleetColumns) -> None:
    """Equal but for the numbers of kinds of nodes, which depend on the past."""
    order = [ours.resources.index(name) for name in fresh.resources]
    for one in fields(ours.rows):
        mine, theirs = getattr(ours.rows, one.name), getattr(fresh.rows, one.name)
        if one.name == "class_of":
            mine = [ours.frame.table.kinds[at] for at in mine]
            theirs = [fresh.frame.table.kinds[at] for at in theirs]
            assert mine == theirs
        elif one.name == "free":
            assert np.array_equal(mine[order], theirs)
        elif one.name == "gpu_free":
            assert np.array_equal(mine[:, : theirs.shape[1]], theirs)
            assert not mine[:, theirs.shape[1] :].any()
        else:
            assert np.array_equal(mine, theirs), one.name
    assert np.array_equal(ours.starts, fresh.starts)
    assert np.array_equal(ours.cluster_of, fresh.cluster_of)
    assert np.array_equal(ours.total[order], fresh.total)
    assert np.array_equal(ours.room[order], fresh.room)
    assert np.array_equal(ours.gpu_room, fresh.gpu_room)
    assert np.array_equal(ours.facts.table, fresh.facts.table, equal_nan=True)
    assert ours.names == fresh.names


def _built(name: str, rows: int, cores: int, gpus: int, special: bool) -> ClusterBuilder:
    built = cluster(name)
    for row in range(rows):
        extra: dict[str, Any] = {"example.com/fpga": "1"} if special and row % 2 else {}
        built = built.nodes(
            row + 1, cpu=str(cores + row), memory="8Gi", gpus=(1000,) * gpus, labels={"row": str(row)}, **extra
        )
    return built


shapes = st.tuples(st.integers(0, 4), st.integers(1, 8), st.integers(0, 3), st.booleans())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), shapes), max_size=8), st.integers(1, 5))
def test_any_sequence_of_changes(changes: list[tuple[int, tuple[int, int, int, bool]]], size: int) -> None:
    snapshot = fleet(*(_built(f"c{at}", at % 3, 4, at % 2, False) for at in range(size)))
    columns = follow(snapshot)
    for at, shape in changes:
        one = _built(f"c{at % size}", *shape).build()
        clusters = tuple(one if known.name == one.name else known for known in snapshot.clusters)
        snapshot = replace(snapshot, clusters=clusters)
        columns = follow(snapshot, columns)
        _same(columns, follow(snapshot))
    assert columns.names == tuple(f"c{at}" for at in range(size))


def test_clusters_that_join_and_leave() -> None:
    a, b, c = (_built(name, 2, 4, 0, False) for name in "abc")
    columns = follow(fleet(a, b))
    for members in ((a, b, c), (b, c), (c,), (), (a,)):
        snapshot = fleet(*members)
        columns = follow(snapshot, columns)
        _same(columns, follow(snapshot))
        assert columns.names == tuple(one.name for one in snapshot.clusters)


def test_what_did_not_change_is_used_again() -> None:
    a, b = cluster("a").nodes(cpu="4", memory="8Gi").build(), cluster("b").nodes(cpu="4", memory="8Gi").build()
    first = Snapshot(0.0, (a, b))
    columns = follow(first)
    assert follow(first, columns) is columns
    second = follow(replace(first, clusters=(a, cluster("b").nodes(cpu="2", memory="8Gi").build())), columns)
    assert second.blocks[0] is columns.blocks[0]
    assert second.network is columns.network
    only_state = follow(replace(first, clusters=(replace(a, price=2.0), b)), columns)
    assert only_state.blocks == columns.blocks
    assert only_state.facts.price.tolist() == [2.0, 1.0]


def test_kinds_of_nodes_that_are_gone_do_not_fill_the_table_for_ever() -> None:
    columns = follow(fleet(cluster("a").nodes(cpu="1", memory="1Gi", labels={"host": "h0"})))
    for host in range(1, 600):
        columns = follow(fleet(cluster("a").nodes(cpu="1", memory="1Gi", labels={"host": f"h{host}"})), columns)
    assert len(columns.frame.table) <= 300
