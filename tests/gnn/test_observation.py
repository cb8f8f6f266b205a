"""Observations: joined, cut down to what matters, and refused where they are not numbers."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.graph.value import NODE_TYPES, RELATIONS
from gnn.observation import Ask, around, batch, observe, unfit
from tests.gnn.fleets import FACTORS, some_ask, some_graph, some_observation


def test_pairs_are_sorted_by_ask_with_their_values() -> None:
    graph = some_graph(3, 4, np.random.default_rng(0))
    pairs = np.array([[1, 0, 1, 0], [2, 1, 0, 2]])
    values = np.arange(4.0)[:, None] * np.ones(FACTORS)
    seen = observe(graph, Ask(np.array([3, 1]), pairs, values, np.array([1.0, 2.0, 3.0, -1.0])))
    assert seen["ask/pairs"].tolist() == [[0, 0, 1, 1], [1, 2, 2, 0]]
    assert seen["ask/values"][:, 0].tolist() == [1.0, 3.0, 0.0, 2.0]
    assert seen["ask/room"].tolist() == pytest.approx(np.log1p([2.0, 0.0, 1.0, 3.0]).tolist())


@pytest.mark.parametrize("key", ["node/cluster", "values/runs_on", "ask/values", "ask/room"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e9])
def test_one_bad_number_anywhere_makes_an_observation_unfit(key: str, value: float) -> None:
    seen = some_observation(1)
    assert unfit(seen) is None
    seen[key] = seen[key].copy()
    seen[key].reshape(-1)[0] = value
    assert (unfit(seen) or "").startswith(key)


def test_a_batch_is_its_graphs_side_by_side() -> None:
    parts = [some_observation(seed, clusters, 3) for seed, clusters in enumerate([2, 5, 1])]
    joined = batch(parts)
    for kind in NODE_TYPES:
        sizes = [len(one[f"node/{kind}"]) for one in parts]
        assert np.bincount(joined[f"graph/{kind}"], minlength=3).tolist() == sizes
    for name, source, target in RELATIONS:
        ends = joined[f"ends/{name}"]
        assert (joined[f"graph/{source}"][ends[0]] == joined[f"graph/{target}"][ends[1]]).all()
        assert len(joined[f"values/{name}"]) == ends.shape[1]
    assert joined["ask/pairs"].tolist() == [[0, 0, 1, 1, 1, 1, 1, 2], list(range(8))]
    rows = joined["ask/function"]
    for i, one in enumerate(parts):
        assert np.array_equal(joined["node/function"][rows[i]], one["node/function"][one["ask/function"][0]])


def test_around_a_function_are_its_callers_and_callees_and_the_whole_fleet() -> None:
    graph = some_graph(4, 12, np.random.default_rng(4))
    asked = 3
    source, target = graph.edges["calls"].ends
    beside = {asked, *target[source == asked].tolist(), *source[target == asked].tolist()}
    small, rows = around(graph, np.array([asked]))
    assert small.names["function"] == tuple(graph.names["function"][row] for row in sorted(beside))
    assert small.names["function"][rows[0]] == graph.names["function"][asked]
    assert small.names["cluster"] == graph.names["cluster"]
    assert small.edges["link"] is graph.edges["link"]
    runs = graph.edges["runs_on"]
    kept = np.isin(runs.ends[0], sorted(beside))
    assert np.array_equal(small.edges["runs_on"].values, runs.values[kept])
    assert np.array_equal(small.edges["runs_on"].ends[1], runs.ends[1][kept])
    old = [graph.names["function"][row] for row in runs.ends[0][kept].tolist()]
    assert [small.names["function"][row] for row in small.edges["runs_on"].ends[0].tolist()] == old


def test_around_all_functions_is_the_graph() -> None:
    graph = some_graph(3, 5, np.random.default_rng(9))
    same, rows = around(graph, np.arange(5))
    assert rows.tolist() == list(range(5))
    seen = some_ask(graph, np.random.default_rng(0), asks=2)
    one, other = observe(graph, seen), observe(same, seen)
    assert all(np.array_equal(one[key], other[key]) for key in one)
