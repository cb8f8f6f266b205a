"""The same graph in the forms that others read: networkx for paths and pictures, HeteroData for PyG's layers.

Neither is in the way of a decision. Both carry all there is, so that what was built can be had back.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from federation.snapshot import frozen
from gnn.graph.features import width
from gnn.graph.value import NODE_TYPES, RELATIONS, Edges, Graph


def as_networkx(graph: Graph) -> nx.MultiDiGraph[tuple[str, str]]:
    """Nodes (type, name) with `row` and `x`; edges keyed by relation with `values`."""
    out: nx.MultiDiGraph[tuple[str, str]] = nx.MultiDiGraph()
    for kind in NODE_TYPES:
        for row, name in enumerate(graph.names[kind]):
            out.add_node((kind, name), row=row, x=graph.nodes[kind][row])
    for name, source, target in RELATIONS:
        edges = graph.edges[name]
        for (a, b), values in zip(edges.ends.T.tolist(), edges.values, strict=True):
            ends = (source, graph.names[source][a]), (target, graph.names[target][b])
            out.add_edge(*ends, key=None, relation=name, values=values)
    return out


def from_networkx(given: nx.MultiDiGraph[tuple[str, str]]) -> Graph:
    """The graph back; nodes take the order of their `row`."""
    names = {
        kind: tuple(
            node[1]
            for _, node in sorted((data["row"], node) for node, data in given.nodes(data=True) if node[0] == kind)
        )
        for kind in NODE_TYPES
    }
    nodes = {
        kind: np.array([given.nodes[kind, name]["x"] for name in names[kind]], np.float32).reshape(-1, width(kind))
        for kind in NODE_TYPES
    }
    found: dict[str, list[tuple[int, int, Any]]] = {name: [] for name, _, _ in RELATIONS}
    for source, target, data in given.edges(data=True):
        rows = given.nodes[source]["row"], given.nodes[target]["row"]
        found[data["relation"]].append((*rows, data["values"]))
    return Graph(frozen(names), frozen(nodes), frozen({name: _edges(name, rows) for name, rows in found.items()}))


def _edges(name: str, rows: list[tuple[int, int, Any]]) -> Edges:
    ends = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
    return Edges(ends, np.array([row[2] for row in rows], np.float32).reshape(len(rows), width(name)))


def as_hetero(graph: Graph) -> Any:
    """A torch_geometric HeteroData with every relation and its reverse (`rev_NAME`), sharing the arrays' memory."""
    import torch
    from torch_geometric.data import HeteroData

    data = HeteroData()
    for kind in NODE_TYPES:
        data[kind].x = torch.from_numpy(graph.nodes[kind])
    for name, source, target in RELATIONS:
        edges = graph.edges[name]
        ends, values = torch.from_numpy(edges.ends), torch.from_numpy(edges.values)
        data[source, name, target].edge_index = ends
        data[source, name, target].edge_attr = values
        data[target, f"rev_{name}", source].edge_index = ends.flip(0)
        data[target, f"rev_{name}", source].edge_attr = values
    return data
