"""All relations of an observation as one list of edges, both ways, for attention in few large steps.

A pass for each relation is sixteen small ones a round, and small steps cost more than the sums in them. So the nodes of
all types are numbered through, and an edge's values stand in the columns of its relation, beside a 1 that says which it
is; everything relation-specific is then a row of one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.graph.features import width
from gnn.graph.value import NODE_TYPES, RELATIONS, Relation
from gnn.observation import Observation
from prewarm.domain import Float32Array, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Wiring:
    """Edges sorted by target, then relation. source, target: (e,) numbered through all node types. group: (e,) edges of
    one relation into one target share one, counted from 0. values: (e, WIDTH).
    """

    source: IntArray
    target: IntArray
    group: IntArray
    values: Float32Array


def both_ways() -> list[Relation]:
    """Every relation and its reverse."""
    back = [Relation(f"rev_{name}", target, source) for name, source, target in RELATIONS]
    return [*RELATIONS, *back]


def columns() -> list[int]:
    """The first column of each of these in an edge's values; after its values stands the 1 that says which it is."""
    return list(_FIRST)


_COLUMNS = [width(name.removeprefix("rev_")) + 1 for name, _, _ in both_ways()]
_FIRST = [sum(_COLUMNS[:i]) for i in range(len(_COLUMNS))]
WIDTH = sum(_COLUMNS)


def wire(observation: Observation) -> Wiring:
    """The edges of an observation."""
    first, count = {}, 0
    for kind in NODE_TYPES:
        first[kind], count = count, count + len(observation[f"node/{kind}"])
    edges = sum(observation[f"ends/{name}"].shape[1] for name, _, _ in both_ways() if not name.startswith("rev_"))
    source, target, relation = (np.empty(2 * edges, np.int64) for _ in range(3))
    values, at = np.zeros((2 * edges, WIDTH), np.float32), 0
    for number, (name, begin, end) in enumerate(both_ways()):
        plain = name.removeprefix("rev_")
        ends, told = observation[f"ends/{plain}"], observation[f"values/{plain}"]
        rows, column = slice(at, at := at + len(told)), _FIRST[number]
        source[rows], target[rows] = ends if plain == name else ends[::-1]
        source[rows] += first[begin]
        target[rows] += first[end]
        relation[rows] = number
        values[rows, column : column + told.shape[1]] = told
        values[rows, column + told.shape[1]] = 1.0
    key = target * len(_COLUMNS) + relation
    order = np.argsort(key, kind="stable")
    group = np.cumsum(np.diff(key[order], prepend=key[order[:1]]) != 0)
    return Wiring(source[order], target[order], group, values[order])
