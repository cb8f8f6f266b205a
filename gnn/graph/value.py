"""A graph as a value: node features by type, edges by relation, names for people, and how many values were replaced.

Plain numpy, so that the service reads it without torch. Relations are kept in one direction only; whoever passes
messages reads each both ways, which is the same as storing the reverse ones and half the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from federation.snapshot import frozen
from prewarm.domain import Float32Array, IntArray

NODE_TYPES = ("cluster", "pool", "function", "region")


class Relation(NamedTuple):
    """A kind of edge: its name and the node types at its ends."""

    name: str
    source: str
    target: str


RELATIONS = (
    Relation("calls", "function", "function"),
    Relation("runs_on", "function", "cluster"),
    Relation("warm_on", "function", "cluster"),
    Relation("may_run_on", "function", "cluster"),
    Relation("link", "cluster", "cluster"),
    Relation("in_region", "cluster", "region"),
    Relation("part_of", "pool", "cluster"),
    Relation("called_from", "function", "region"),
)


@dataclass(frozen=True, slots=True)
class Edges:
    """ends: (2, e) row of the source, row of the target. values: (e, width)."""

    ends: IntArray
    values: Float32Array

    def __len__(self) -> int:
        return int(self.ends.shape[1])


@dataclass(frozen=True, slots=True)
class Graph:
    """names: of the nodes in row order, by type. nodes: (n, width) by type. edges: by relation. Every type and relation
    is there, empty ones too. standins: replaced values by field, `cluster.price` and the like.
    """

    names: Mapping[str, tuple[str, ...]]
    nodes: Mapping[str, Float32Array]
    edges: Mapping[str, Edges]
    standins: Mapping[str, int] = field(default_factory=frozen)

    def row(self, node_type: str, name: str) -> int | None:
        """Where a node is among its type, None where it is not in the graph."""
        names = self.names[node_type]
        return names.index(name) if name in names else None
