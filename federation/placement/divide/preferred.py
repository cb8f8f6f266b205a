"""Best first, then overflow: all to the best cluster while it has room, the rest to the next.

An instance that runs counts `stay` more where it is, so it moves only to a cluster that is better by more than that.
The answer maximises sum of x_i s_i + stay * min(x_i, before_i) within the limits: each cluster is two stretches, what
runs there at s_i + stay and what may be added at s_i, and filling stretches from the highest value down is optimal,
since the first stretch of a cluster is never worth less than its second.
"""

from __future__ import annotations

import numpy as np

from federation.placement.divide.limits import ROUND, Limits, by_row, ordered
from prewarm.domain import FloatArray, IntArray


def best_first(total: IntArray, scores: FloatArray, limits: Limits, stay: FloatArray) -> IntArray:
    """Instances by row and cluster, (w, c); scores: (w, c), stay: (w, c) or (w, 1) what not moving is worth to one.

    With nothing running and no least, one more in all never takes one from a cluster (house monotone).
    """
    running = np.minimum(np.maximum(limits.before, limits.least), limits.most)
    stretches = np.concatenate([running - limits.least, limits.most - running], axis=1)
    worth = np.concatenate([scores + stay, scores], axis=1)
    order = by_row(ordered((-np.round(worth, ROUND), -np.concatenate([limits.tie, limits.tie], axis=1))))
    offered = stretches[order]
    wanted = np.maximum(total - limits.least.sum(axis=1), 0)[:, None]
    filled = np.empty_like(stretches)
    filled[order] = np.minimum(np.maximum(wanted - (np.cumsum(offered, axis=1) - offered), 0), offered)
    clusters = limits.least.shape[1]
    counts: IntArray = limits.least + filled[:, :clusters] + filled[:, clusters:]
    return counts
