"""A question of the service as the policy sees it; training and the running service both go through this function.

The graph is built without facts that are told from outside, because a mapping that changes with each question would
make the builder start anew each time. What the workload says of itself is written over its row afterwards, and of the
other functions only those stay that call it or are called by it: `runs_on` says where they are. All else that a policy
can learn of this workload is in the factors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from federation.placement.scorer import FACTORS, Question
from federation.placement.workload import Workload
from federation.snapshot import Snapshot, frozen
from gnn.graph.build import GraphBuilder
from gnn.graph.features import TABLE, column, encode, width
from gnn.graph.functions import Facts, facts_of, told_columns
from gnn.graph.value import Edges, Graph
from gnn.observation import Ask, observe
from prewarm.domain import Float32Array, FloatArray, IntArray

NO_FACTS: Mapping[str, Facts] = frozen()
_HALF_MS = 50.0
_NETWORK = FACTORS.index("network")
_TOLD = 5
"""The first raw columns of a function are what it says of itself."""
_TOLD_WIDTH = sum(1 + feature.flagged for feature in TABLE["function"][:_TOLD])
_WANTED = column("function", "wanted")
_WANTED_AT = sum(1 + feature.flagged for feature in TABLE["function"][:_WANTED])


def question_observation(question: Question, builder: GraphBuilder) -> dict[str, NDArray[Any]]:
    """The observation of one question, over the clusters that it names. `builder` is kept from question to question of
    one fleet; it does again only what changed.
    """
    graph = builder.build(question.snapshot, NO_FACTS)
    own, others = _neighbours(graph, question.workload)
    place = np.full(len(graph.names["function"]) + 1, -1, np.int64)  # one more, for a workload that is not there yet
    place[own], place[others] = 0, np.arange(1, 1 + len(others))
    clusters = _rows(graph.names["cluster"], question.clusters)
    names = graph.names["function"]
    cut = Graph(
        frozen({**graph.names, "function": (question.workload.key, *(names[row] for row in others.tolist()))}),
        frozen({**graph.nodes, "function": _functions(graph, question.workload, own, others)}),
        frozen({**graph.edges, **_edges(graph, question, clusters, place)}),
        graph.standins,
    )
    pairs = np.stack([np.zeros(len(clusters), np.int64), clusters])
    return observe(cut, Ask(np.zeros(1, np.int64), pairs, question.values, question.room))


def _neighbours(graph: Graph, workload: Workload) -> tuple[int, IntArray]:
    """Row of the workload (one past the last where it is not in the graph), and of those on either side of it."""
    names = graph.names["function"]
    own = graph.row("function", workload.key)
    named = [row for one in workload.calls if (row := graph.row("function", one.key)) is not None]
    if own is None:
        return len(names), np.array(sorted(set(named)), np.int64)
    source, target = graph.edges["calls"].ends
    near = {*source[target == own].tolist(), *target[source == own].tolist(), *named} - {own}
    return own, np.array(sorted(near), np.int64)


def _rows(names: tuple[str, ...], wanted: tuple[str, ...]) -> IntArray:
    if len(names) == len(wanted):
        return np.arange(len(names))  # all of them: both are in the snapshot's order
    at = {name: row for row, name in enumerate(names)}
    return np.array([at[name] for name in wanted], np.int64)


def _functions(graph: Graph, workload: Workload, own: int, others: IntArray) -> Float32Array:
    """The workload first, by what it says now, then its neighbours."""
    raw = np.zeros((1, len(TABLE["function"])))
    raw[:, :_TOLD] = told_columns((workload.key,), {workload.key: _told(workload)})
    raw[:, _WANTED] = workload.replicas
    said = encode("function", raw, Counter())
    nodes = graph.nodes["function"]
    if own < len(nodes):
        kept = nodes[[own]]
        kept[:, :_TOLD_WIDTH], kept[:, _WANTED_AT] = said[:, :_TOLD_WIDTH], said[:, _WANTED_AT]
        said = kept
    return np.concatenate([said, nodes[others]])


def _told(workload: Workload) -> Facts:
    facts = facts_of(workload)
    if facts.demand_per_s is not None or not workload.callers:
        return facts
    called = sum(one.calls_per_s for one in workload.callers)
    return Facts(called, facts.cpu_milli, facts.memory_bytes, facts.gpu_milli, facts.latency_ms, facts.callers)


def _edges(graph: Graph, question: Question, clusters: IntArray, place: IntArray) -> dict[str, Edges]:
    """The relations that a function has part in."""
    calls, runs, warm = (graph.edges[name] for name in ("calls", "runs_on", "warm_on"))
    both = (place[calls.ends] >= 0).all(axis=0)
    told = question.workload.calls
    if told:
        both &= place[calls.ends[0]] != 0
    kept = Edges(place[calls.ends[:, both]], calls.values[both])
    return {
        "calls": _joined(kept, _called(question.workload, graph, place)) if told else kept,
        "runs_on": _of(runs, place),
        "warm_on": _of(warm, place),
        "may_run_on": _may_run_on(question, clusters),
        "called_from": _called_from(question.workload, question.snapshot, graph.names["region"]),
    }


def _of(edges: Edges, place: IntArray) -> Edges:
    mine = place[edges.ends[0]] >= 0
    return Edges(np.stack([place[edges.ends[0, mine]], edges.ends[1, mine]]), edges.values[mine])


def _called(workload: Workload, graph: Graph, place: IntArray) -> Edges:
    """What the workload itself says that it calls."""
    rows = [(one, graph.row("function", one.key)) for one in workload.calls]
    found = [(one, int(place[row])) for one, row in rows if row is not None and place[row] > 0]
    demand = np.nan if workload.demand_per_s is None else workload.demand_per_s
    raw = [(one.calls_per_invocation, one.payload_kib, one.calls_per_invocation * demand, 0.0) for one, _ in found]
    ends = np.array([[0] * len(found), [row for _, row in found]], np.int64)
    return Edges(ends, encode("calls", np.array(raw, np.float64).reshape(-1, 4), Counter()))


def _joined(one: Edges, other: Edges) -> Edges:
    return Edges(np.concatenate([one.ends, other.ends], axis=1), np.concatenate([one.values, other.values]))


def _may_run_on(question: Question, clusters: IntArray) -> Edges:
    """Every cluster in question: the delay that its network factor stands for, and the room."""
    near = np.clip(question.values[:, _NETWORK], 1e-3, 1.0)
    raw = np.column_stack([_HALF_MS * (1.0 / near - 1.0), question.room])
    return Edges(np.stack([np.zeros_like(clusters), clusters]), encode("may_run_on", raw, Counter()))


def _called_from(workload: Workload, snapshot: Snapshot, regions: tuple[str, ...]) -> Edges:
    """Calls a second by region; those from a cluster are from its region."""
    calls: FloatArray = np.zeros(len(regions))
    at = {region: row for row, region in enumerate(regions)}
    for caller in workload.callers:
        region = caller.region
        if caller.cluster is not None and (there := snapshot.cluster(caller.cluster)) is not None:
            region = there.region
        if region in at and np.isfinite(caller.calls_per_s):
            calls[at[region]] += max(caller.calls_per_s, 0.0)
    rows = np.flatnonzero(calls)
    if not rows.size:
        return Edges(np.zeros((2, 0), np.int64), np.zeros((0, width("called_from")), np.float32))
    raw = np.column_stack([calls[rows], calls[rows] / calls.sum()])
    return Edges(np.stack([np.zeros_like(rows), rows]), encode("called_from", raw, Counter()))
