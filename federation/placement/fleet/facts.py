"""What is known of each cluster as a whole, in columns; a cluster that did not change keeps its row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from federation.labels import TENANT
from federation.snapshot import Cluster, MemberState
from prewarm.domain import FloatArray

STATES = tuple(MemberState)
_STATE, _SEEN, _PRICE, _INSTANCES, _OWNED, _WATCHED, _QUOTAS, _GROWS, _LACKS, _COLUMNS = range(10)


@dataclass(frozen=True, slots=True)
class Facts:
    """One row a cluster, (C, 9). states: the numbers of those that some cluster is in. marked: columns of marks that
    some cluster has.
    """

    table: FloatArray
    states: frozenset[float]
    marked: frozenset[int]

    @property
    def seen(self) -> FloatArray:
        """When nodes and pods were both last known, (C,), NaN for never."""
        return self.table[:, _SEEN]

    @property
    def price(self) -> FloatArray:
        """Price of capacity, (C,)."""
        return self.table[:, _PRICE]

    @property
    def instances(self) -> FloatArray:
        """Instances of everything that are wanted there, (C,)."""
        return self.table[:, _INSTANCES]

    @property
    def owned(self) -> bool:
        """Whether any cluster is reserved for a tenant."""
        return _OWNED in self.marked

    @property
    def watched(self) -> bool:
        """Whether it is known of any cluster what exists there."""
        return _WATCHED in self.marked

    @property
    def limited(self) -> list[int]:
        """Clusters with quotas."""
        return np.flatnonzero(self.table[:, _QUOTAS]).tolist() if _QUOTAS in self.marked else []

    @property
    def grows(self) -> bool:
        """Whether any cluster declares that it autoscales."""
        return _GROWS in self.marked

    @property
    def lacks_kinds(self) -> bool:
        """Whether the API of any cluster is known not to have some kind of workload."""
        return _LACKS in self.marked

    def in_state(self, state: MemberState) -> FloatArray:
        """1 for clusters in a state, (C,)."""
        number = STATES.index(state)
        if number not in self.states:
            return np.zeros(len(self.table))
        found: FloatArray = (self.table[:, _STATE] == number).astype(np.float64)
        return found


def facts_of(clusters: tuple[Cluster, ...], last: Facts | None, touched: Iterable[int]) -> Facts:
    """The facts of all clusters; only those of the `touched` ones differ from the last."""
    if last is None:
        return _facts(np.array([_row(one) for one in clusters]).reshape(len(clusters), _COLUMNS))
    table = last.table.copy()
    for at in touched:
        table[at] = _row(clusters[at])
    return _facts(table)


def _facts(table: FloatArray) -> Facts:
    marks = np.flatnonzero(np.logical_or.reduce(table[:, _OWNED:], axis=0)) + _OWNED
    return Facts(table, frozenset(table[:, _STATE].tolist()), frozenset(marks.tolist()))


def _row(one: Cluster) -> tuple[float, ...]:
    nodes, pods = one.ages.nodes, one.ages.pods
    return (
        STATES.index(one.state),
        float("nan") if nodes is None or pods is None else min(nodes, pods),
        one.price,
        sum(here.wanted for here in one.running.values()),
        TENANT in one.labels,
        one.present is not None,
        bool(one.quotas),
        one.headroom is not None,
        bool(one.unserved),
    )
