"""The teacher: its rule, with replicas led by the room plan and jobs kept a little from the small cluster.

Its constants were chosen on worlds 2000-2199, with calls on 2000-2005 (docs/experiments.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnn.forms import BOUND, Form
from gnn.published.kernel.layout import BATCH, WEB, State
from gnn.published.policy.ahead import small_cluster
from gnn.published.policy.columns import PLANNED, Columns
from prewarm.domain import FloatArray

SURE = 0.95
KEPT_FOR_REPLICAS = 0.058
"""A job leaves the small cluster to its replicas unless its rule's score there is better by this."""


def lesson(columns: Columns, form: Form, kind: int, seen: tuple[State, FloatArray]) -> NDArray[np.float32] | None:
    """The action that the teacher would take; None as weights, in which a plan cannot be told. seen: the state and the
    look ahead (c, AHEAD).
    """
    del columns
    state, ahead = seen
    if form is Form.WEIGHTS:
        return None
    wish = np.zeros((len(ahead), 1), np.float32)
    if kind == WEB:
        wish[:, 0] = SURE * (2.0 * ahead[:, PLANNED] - 1.0)
    elif kind == BATCH:
        wish[:, 0] = KEPT_FOR_REPLICAS / BOUND / 2.0
        wish[small_cluster(state[0])] *= -1.0
    return wish
