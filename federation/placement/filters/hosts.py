"""Requirements on `kubernetes.io/hostname`: the one label that tells nodes of a kind apart, so rows name their nodes.

It is asked node by node, of rows that could accept the workload otherwise. A summary does not name its nodes: there a
group that asks for the label matches none of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.selectors import satisfies_all, satisfies_any
from federation.placement.workload import Requirement
from federation.snapshot import HOSTNAME_LABEL, Nodes
from prewarm.domain import BoolArray, IntArray

Terms = tuple[tuple[Requirement, ...], ...]


def asks_host(terms: Terms) -> bool:
    """Whether a group says something of the host name."""
    return any(rule.key == HOSTNAME_LABEL for group in terms for rule in group)


def may_satisfy(labels: Mapping[str, str], terms: Terms) -> bool:
    """Whether a node with these labels, of which the host name is not one, could be accepted under some host name."""
    if not terms:
        return True
    groups = [[rule for rule in group if rule.key != HOSTNAME_LABEL] for group in terms if group]
    return any(satisfies_all(labels, group) for group in groups)


def hosted(fleet: FleetColumns, terms: Terms, rows: BoolArray) -> IntArray:
    """Nodes of each row that the groups accept, (N,), 0 where not in `rows`, (N,)."""
    counts = np.zeros(len(rows), dtype=np.int64)
    for block, start in zip(fleet.blocks, fleet.starts.tolist(), strict=False):
        for row in np.flatnonzero(rows[start : start + len(block.numbers)]).tolist():
            counts[start + row] = _accepted(block.nodes, row, terms)
    return counts


def _accepted(nodes: Nodes, row: int, terms: Terms) -> int:
    labels = dict(nodes.classes[int(nodes.class_of[row])].labels)
    if nodes.names is None:
        known = tuple(group for group in terms if not asks_host((group,)))
        return int(nodes.count[row]) if known and satisfies_any(labels, known) else 0
    named = (labels | {HOSTNAME_LABEL: nodes.hosts.get(name, name)} for name in nodes.names[row])
    return sum(satisfies_any(one, terms) for one in named)
