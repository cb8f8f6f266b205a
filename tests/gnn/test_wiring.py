"""All relations as one list of edges: each where it belongs, twice, and told apart by its columns."""

from __future__ import annotations

import numpy as np

from gnn.graph.features import width
from gnn.graph.value import NODE_TYPES, RELATIONS
from gnn.wiring import WIDTH, both_ways, wire
from tests.gnn.fleets import some_observation


def test_every_edge_is_there_both_ways_with_its_values() -> None:
    seen = some_observation(4, 5, 6)
    edges = wire(seen)
    counts = [len(seen[f"node/{kind}"]) for kind in NODE_TYPES]
    first = dict(zip(NODE_TYPES, np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
    found = {(s, t, v.tobytes()) for s, t, v in zip(edges.source, edges.target, edges.values, strict=True)}
    total, column = 0, 0
    for name, begin, end in both_ways():
        plain = name.removeprefix("rev_")
        ends = seen[f"ends/{plain}"] if plain == name else seen[f"ends/{plain}"][::-1]
        for a, b, told in zip(*ends, seen[f"values/{plain}"], strict=True):
            row = np.zeros(WIDTH, np.float32)
            row[column : column + len(told)], row[column + len(told)] = told, 1.0
            assert (a + first[begin], b + first[end], row.tobytes()) in found
        total, column = total + ends.shape[1], column + width(plain) + 1
    assert (len(edges.source), column) == (total, WIDTH)


def test_edges_are_sorted_by_target_and_grouped_by_relation() -> None:
    edges = wire(some_observation(4, 5, 6))
    assert (np.diff(edges.target) >= 0).all()
    assert edges.group[0] == 0
    assert set(np.diff(edges.group).tolist()) <= {0, 1}
    for group in range(int(edges.group[-1]) + 1):
        inside = edges.group == group
        assert len(set(edges.target[inside].tolist())) == 1
        assert len({tuple(np.flatnonzero(row).tolist()[-1:]) for row in edges.values[inside]}) == 1
    assert len(set(zip(edges.group.tolist(), edges.target.tolist(), strict=True))) == edges.group[-1] + 1


def test_a_fleet_without_edges_has_none() -> None:
    seen = some_observation(0, 1, 1)
    for name, _, _ in RELATIONS:
        seen[f"ends/{name}"], seen[f"values/{name}"] = seen[f"ends/{name}"][:, :0], seen[f"values/{name}"][:0]
    edges = wire(seen)
    assert len(edges.source) == len(edges.group) == 0
    assert edges.values.shape == (0, WIDTH)


def test_every_type_hears_something_and_is_heard() -> None:
    assert {one.target for one in both_ways()} == set(NODE_TYPES)
    assert {one.source for one in both_ways()} == set(NODE_TYPES)
