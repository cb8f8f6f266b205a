"""Seeded fleets and questions for the learned parts: odd enough to have empty corners, plain enough to be read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from federation.placement.workload import Caller
from federation.snapshot import MemberState, Snapshot
from gnn.graph.build import GraphBuilder
from gnn.graph.functions import Facts
from gnn.graph.value import RELATIONS, Edges, Graph
from gnn.observation import Ask, observe
from prewarm.settings import Call
from tests.federation.building import ClusterBuilder, Wiring, cluster, fleet

FACTORS = 9
_STATES = (*[MemberState.READY] * 6, MemberState.SLOW, MemberState.DARK)


def key(number: int) -> str:
    """The key of a function."""
    return f"shop/f{number:03d}"


def some_cluster(number: int, rng: np.random.Generator, functions: int) -> ClusterBuilder:
    """A cluster with up to three kinds of nodes, in one of four regions or none, that runs some of the functions."""
    region = None if rng.random() < 0.2 else f"region-{rng.integers(4)}"
    one = cluster(f"c{number:03d}", region=region, state=_STATES[rng.integers(len(_STATES))])
    for kind in range(rng.integers(0, 4)):
        free = {"cpu": str(rng.integers(0, 16)), "memory": f"{rng.integers(0, 64)}Gi"}
        labels = {"kind": str(kind)}
        one = one.nodes(int(rng.integers(1, 9)), free=free, labels=labels, cpu="16", memory="64Gi")
    for number in rng.permutation(functions)[: rng.integers(0, 5)].tolist():
        one = one.runs(key(number), int(rng.integers(1, 9)), ready=int(rng.integers(0, 2)))
    return one.but(price=float(rng.uniform(0.5, 1.5)), start_s=None if rng.random() < 0.5 else 3.0)


def some_facts(functions: int, rng: np.random.Generator) -> dict[str, Facts]:
    """Facts of the functions; some know nothing of themselves."""
    out = {}
    for number in range(functions):
        callers = tuple(Caller(float(rng.uniform(0.1, 9)), region=f"region-{rng.integers(5)}") for _ in range(2))
        known = Facts(float(rng.uniform(0, 99)), 500.0, 2.0**28, 0.0, 100.0, callers)
        out[key(number)] = Facts() if rng.random() < 0.2 else known
    return out


def some_fleet(clusters: int, functions: int, rng: np.random.Generator) -> Snapshot:
    """A fleet with some links and some calls."""
    builders = [some_cluster(number, rng, functions) for number in range(clusters)]
    pairs = rng.integers(0, clusters, (3 * clusters, 2)).tolist() if clusters else []
    delays = {(f"c{a:03d}", f"c{b:03d}"): float(rng.uniform(1, 200)) for a, b in pairs if a != b}
    called = rng.integers(0, functions, (functions, 2)).tolist() if functions else []
    calls = tuple(Call(key(a), key(b), float(rng.uniform(0.1, 3)), payload_kib=4.0) for a, b in called if a != b)
    return fleet(*builders, wiring=Wiring(delays, calls=calls))


def some_graph(clusters: int, functions: int, rng: np.random.Generator) -> Graph:
    """The graph of such a fleet."""
    return GraphBuilder().build(some_fleet(clusters, functions, rng), some_facts(functions, rng))


def some_ask(graph: Graph, rng: np.random.Generator, asks: int = 1) -> Ask:
    """Questions about functions of the graph, each over all clusters."""
    clusters = len(graph.names["cluster"])
    pairs = np.stack([np.repeat(np.arange(asks), clusters), np.tile(np.arange(clusters), asks)])
    functions = rng.integers(0, len(graph.names["function"]), asks)
    room = rng.integers(0, 50, asks * clusters).astype(np.float64)
    return Ask(functions, pairs, rng.random((asks * clusters, FACTORS)), room)


def some_observation(seed: int, clusters: int = 5, functions: int = 6, asks: int = 1) -> dict[str, NDArray[Any]]:
    """What a policy would be asked about such a fleet."""
    rng = np.random.default_rng(seed)
    graph = some_graph(clusters, functions, rng)
    return observe(graph, some_ask(graph, rng, asks))


def reordered(graph: Graph, order: dict[str, NDArray[np.int64]], rng: np.random.Generator) -> Graph:
    """The same graph with the nodes of each type in another order (row i was order[i]) and edges shuffled."""
    names = {kind: tuple(graph.names[kind][row] for row in rows.tolist()) for kind, rows in order.items()}
    place = {kind: np.argsort(rows) for kind, rows in order.items()}
    edges = {}
    for name, source, target in RELATIONS:
        old = graph.edges[name]
        mixed = rng.permutation(len(old))
        ends = np.stack([place[source][old.ends[0, mixed]], place[target][old.ends[1, mixed]]])
        edges[name] = Edges(ends, old.values[mixed])
    return Graph(names, {kind: graph.nodes[kind][rows] for kind, rows in order.items()}, edges)
