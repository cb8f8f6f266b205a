"""What a question tells of each cluster: the rule's factors by kind of pod, and what a look ahead says.

The rule weighs other factors for replicas, jobs and gangs, so each kind has columns of its own, which are 0 where
the pod is of another one. The look-ahead columns have no weight in the rule: a policy reads them, the rule does not.
"""

from __future__ import annotations

import numpy as np

from gnn.forms import Rule
from gnn.published.kernel.layout import KINDS, NODE_FACTORS, SIZE
from gnn.published.rules.named import Rule as NamedRule
from gnn.published.rules.named import filled
from prewarm.domain import FloatArray, IntArray

AHEAD = ("chain_here", "planned", "room_to_grow", "gang_room", "gangs_lost", "waiting")
"""Share of the pod's chain that is in the cluster; 1 where the room plan puts the pod; free cores that the chains at
home there will not ask for, in 16; gangs that fit, in 8; gangs that fit no longer with the pod on its node; jobs that
wait, in 8.
"""
CHAIN_HERE, PLANNED, ROOM_TO_GROW, GANG_ROOM, GANGS_LOST, WAITING = range(len(AHEAD))


class Columns:
    """The columns that belong to one fixed rule. kind, factor: (w,) of each weighed column, row of `KINDS` and of
    `NODE_FACTORS`.
    """

    def __init__(self, rule: NamedRule) -> None:
        self.rule = rule
        self.table = rule.table
        weighed = [
            (k, NODE_FACTORS.index(name)) for k, kind in enumerate(KINDS) for name, w in rule.weights[kind].items() if w
        ]
        self.kind, self.factor = (np.array(one, np.int64) for one in zip(*weighed, strict=True))
        self.totals = np.array([self.table[k, self.factor[self.kind == k]].sum() for k in range(len(KINDS))])

    @property
    def weighed(self) -> int:
        """How many columns the rule weighs; the look-ahead follows them."""
        return len(self.kind)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns."""
        pairs = zip(self.kind.tolist(), self.factor.tolist(), strict=True)
        return (*(f"{KINDS[k]} {NODE_FACTORS[f]}" for k, f in pairs), *AHEAD)

    @property
    def weights(self) -> Rule:
        """The rule over the columns: within a kind its weights sum to 1, so that a residual is as strong for each."""
        own = self.table[self.kind, self.factor] / self.totals[self.kind]
        return Rule((*own.tolist(), *[0.0] * len(AHEAD)))

    def values(self, kind: int, factors: FloatArray, ahead: FloatArray) -> FloatArray:
        """(c, columns) from all factors (c, SIZE) of a pod's best nodes and the look ahead (c, AHEAD)."""
        told = factors[:, self.factor] * (self.kind == kind)
        out: FloatArray = np.concatenate([told, ahead], axis=1)
        return out

    def row(self, kind: int, weights: FloatArray) -> FloatArray:
        """The kernel's row (SIZE + 1,) of one kind for weights over the columns; what breaks ties stays."""
        out: FloatArray = self.table[kind].copy()
        mine: IntArray = np.flatnonzero(self.kind == kind)
        out[self.factor[mine]] = weights[mine] * self.totals[kind]
        return out


def tuned_columns() -> Columns:
    """Those of the rule that the shipped policy departs from."""
    columns = Columns(filled())
    assert columns.table.shape[1] == SIZE + 1
    return columns
