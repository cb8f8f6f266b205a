"""From an action to the kernel's words, and back from a teacher's wish to an action."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnn.forms import BOUND, HOTTEST, Form, temperature_of, weights_of
from gnn.published.kernel.layout import SIZE
from gnn.published.measure.run import Answer
from gnn.published.policy.columns import Columns

_DECIDES = 1e3
"""A direct score stands so far above what the rule says of a cluster."""


def answer(columns: Columns, form: Form, kind: int, action: NDArray[np.float32]) -> Answer:
    """What the kernel is told; all zeros as weights or residual are the rule's own row, bit for bit."""
    row = columns.table[kind]
    if form is Form.WEIGHTS:
        return Answer(_row(columns, kind, action) if action.any() else row)
    told = action[:, 0].astype(np.float64)
    scale = BOUND * columns.totals[kind] if form is Form.RESIDUAL else _DECIDES
    return Answer(row, scale * told)


def _row(columns: Columns, kind: int, action: NDArray[np.float32]) -> NDArray[np.float64]:
    """A kind's weights are renormalised among themselves, as the rule's are."""
    rule = columns.weights
    weights = weights_of(action.astype(np.float64), np.array(rule.weights))[0]
    mine = columns.kind == kind
    own = np.zeros(len(weights))
    own[: len(mine)][mine] = weights[: len(mine)][mine] / weights[: len(mine)][mine].sum()
    row = columns.row(kind, own)
    row[SIZE] = float(np.clip(temperature_of(action.astype(np.float64))[0], 0.0, HOTTEST))
    return row
