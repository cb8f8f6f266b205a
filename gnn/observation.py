"""What the policy is asked, as a flat mapping of arrays: a graph, the functions in question, and their clusters.

Flat, because the same form is kept in the replay buffer, written into checkpoints without pickling, joined into
batches, and read by torch and numpy alike. Keys: `node/TYPE` (n, width), `ends/RELATION` (2, e), `values/RELATION`
(e, width), `ask/function` (k,) rows, `ask/pairs` (2, p) row of the ask and row of the cluster, sorted by ask,
`ask/values` (p, F) the named factors, `ask/room` (p,) log of instances that fit. `graph/TYPE` (n,) says in a batch
which of its graphs a node is from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from federation.snapshot import frozen
from gnn.graph.value import NODE_TYPES, RELATIONS, Edges, Graph
from prewarm.domain import BoolArray, FloatArray, IntArray

Observation = Mapping[str, NDArray[Any]]

MOST_VALUE = 1e6


@dataclass(frozen=True, slots=True)
class Ask:
    """functions: (k,) rows in the graph. pairs: (2, p) index into `functions`, row of a cluster. values: (p, F). room:
    (p,) instances that fit.
    """

    functions: IntArray
    pairs: IntArray
    values: FloatArray
    room: FloatArray


def observe(graph: Graph, ask: Ask) -> dict[str, NDArray[Any]]:
    """The observation of an ask about a graph."""
    out: dict[str, NDArray[Any]] = {f"node/{kind}": graph.nodes[kind] for kind in NODE_TYPES}
    for relation in RELATIONS:
        edges = graph.edges[relation.name]
        out[f"ends/{relation.name}"], out[f"values/{relation.name}"] = edges.ends, edges.values
    order = np.argsort(ask.pairs[0], kind="stable")
    out["ask/function"] = ask.functions
    out["ask/pairs"] = ask.pairs[:, order]
    out["ask/values"] = ask.values[order].astype(np.float32)
    out["ask/room"] = np.log1p(np.maximum(ask.room[order], 0.0)).astype(np.float32)
    return out


def unfit(observation: Observation) -> str | None:
    """Why a policy must not see this, None where it may: a value that is not finite or out of all bounds."""
    for key, array in observation.items():
        if array.dtype.kind != "f" or not array.size:
            continue
        if not np.isfinite(array).all():
            return f"{key} is not finite"
        if np.abs(array).max() > MOST_VALUE:
            return f"{key} is beyond {MOST_VALUE:.0e}"
    return None


def batch(observations: Sequence[Observation]) -> dict[str, NDArray[Any]]:
    """Several observations as one of disjoint graphs."""
    counts = {kind: [len(one[f"node/{kind}"]) for one in observations] for kind in NODE_TYPES}
    first = {kind: np.cumsum([0, *sizes[:-1]]) for kind, sizes in counts.items()}
    asks = np.cumsum([0, *(len(one["ask/function"]) for one in observations[:-1])])
    out: dict[str, NDArray[Any]] = {}
    for kind in NODE_TYPES:
        out[f"node/{kind}"] = np.concatenate([one[f"node/{kind}"] for one in observations])
        out[f"graph/{kind}"] = np.repeat(np.arange(len(observations)), counts[kind])
    for name, source, target in RELATIONS:
        ends = [
            one[f"ends/{name}"] + np.array([[first[source][i]], [first[target][i]]])
            for i, one in enumerate(observations)
        ]
        out[f"ends/{name}"] = np.concatenate(ends, axis=1)
        out[f"values/{name}"] = np.concatenate([one[f"values/{name}"] for one in observations])
    out["ask/function"] = np.concatenate(
        [one["ask/function"] + first["function"][i] for i, one in enumerate(observations)]
    )
    pairs = [one["ask/pairs"] + np.array([[asks[i]], [first["cluster"][i]]]) for i, one in enumerate(observations)]
    out["ask/pairs"] = np.concatenate(pairs, axis=1)
    for key in ("ask/values", "ask/room"):
        out[key] = np.concatenate([one[key] for one in observations])
    return out


def around(graph: Graph, functions: IntArray) -> tuple[Graph, IntArray]:
    """The graph with only `functions` (rows), what they call and what calls them; and their rows in it. Replay keeps
    many thousand observations, and a fleet's other functions would fill it without saying much.
    """
    many = len(graph.names["function"])
    chosen, kept = np.zeros(many, np.bool_), np.zeros(many, np.bool_)
    chosen[functions] = kept[functions] = True
    source, target = graph.edges["calls"].ends
    kept[source[chosen[target]]] = True
    kept[target[chosen[source]]] = True
    rows = np.flatnonzero(kept)
    place = np.full(many, -1, np.int64)
    place[rows] = np.arange(len(rows))
    edges = {name: _cut(graph.edges[name], place, kept, (a == "function", b == "function")) for name, a, b in RELATIONS}
    names = tuple(graph.names["function"][row] for row in rows.tolist())
    cut = Graph(
        frozen({**graph.names, "function": names}),
        frozen({**graph.nodes, "function": graph.nodes["function"][rows]}),
        frozen(edges),
        graph.standins,
    )
    return cut, place[functions]


def _cut(edges: Edges, place: IntArray, kept: BoolArray, sides: tuple[bool, bool]) -> Edges:
    if not any(sides):
        return edges
    alive = np.ones(len(edges), np.bool_)
    for end, cut in zip(edges.ends, sides, strict=True):
        alive &= kept[end] if cut else True
    ends = edges.ends[:, alive]
    moved = [place[end] if cut else end for end, cut in zip(ends, sides, strict=True)]
    return Edges(np.stack(moved), edges.values[alive])
