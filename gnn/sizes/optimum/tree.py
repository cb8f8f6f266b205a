"""Dynamic programming over the tree, exact but for one thing: two parts of a request that meet in the same cluster
without touching in the tree do not know of each other.

Services that are neighbours in the tree and in the same cluster make up a part; a part never gets more than the room of
its cluster. cost[v, c, u] is the least delay below service v, placed in cluster c, if v's part below v takes u units.
So the result is a lower bound, and the optimum where the placement that it stands for keeps all rooms. A part may also
have a price by its cluster and units, which is how a teacher keeps holes useful; the optimum has none.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

Array = Any
compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def below(
    parent: Array, units: Array, allowed: Array, limit: Array, delay: Array, price: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """From the leaves up. allowed: (k, n). limit: (n,) room, at most m. price: (n, m + 1) of a part, in ms.

    whole (k, n): least delay and prices below each service if its part begins there; size (k, n): that part's units;
    share (k, n, m + 1): units that a service's part takes out of its parent's, 0 if it is elsewhere; other (k, n):
    where it then is; apart (k, n): delay and prices of it then, its own link included.
    """
    services, clusters = allowed.shape
    most = limit.max()
    cost = np.full((services, clusters, most + 1), np.inf)
    share = np.zeros((services, clusters, most + 1), np.int64)
    whole, apart = np.full((services, clusters), np.inf), np.full((services, clusters), np.inf)
    size, other = np.zeros((services, clusters), np.int64), np.zeros((services, clusters), np.int64)
    for v in range(services):
        for c in range(clusters):
            if allowed[v, c] and units[v] <= limit[c]:
                cost[v, c, units[v]] = 0.0
    for w in range(services - 1, -1, -1):
        _close(cost[w], limit, price, whole[w], size[w])
        v = parent[w]
        if v < 0:
            break
        for c in range(clusters):
            if limit[c] >= units[v] and allowed[v, c]:
                apart[w, c], other[w, c] = _elsewhere(whole[w], delay[c], c)
                _join(cost[v, c], cost[w, c], share[w, c], apart[w, c], delay[c, c], (units[v], units[w], limit[c]))
    return whole, size, share, other, apart


@compiled  # type: ignore[untyped-decorator]
def _close(cost: Array, limit: Array, price: Array, whole: Array, size: Array) -> None:
    """The best size of a part that begins here, by cluster."""
    for c in range(len(limit)):
        for u in range(limit[c] + 1):
            if cost[c, u] + price[c, u] < whole[c]:
                whole[c], size[c] = cost[c, u] + price[c, u], u


@compiled  # type: ignore[untyped-decorator]
def _elsewhere(whole: Array, delay: Array, c: int) -> tuple[float, int]:
    """Least delay of a child that is not in its parent's cluster, and where it is."""
    best, at = np.inf, 0
    for d in range(len(whole)):
        if d != c and delay[d] + whole[d] < best:
            best, at = delay[d] + whole[d], d
    return best, at


@compiled  # type: ignore[untyped-decorator]
def _join(upper: Array, lower: Array, share: Array, apart: float, inside: float, sizes: tuple[int, int, int]) -> None:
    """Add a child to its parent's costs in one cluster, in place. sizes: units of parent and child, room."""
    own, least, room = sizes
    for u in range(room, own - 1, -1):
        best, taken = upper[u] + apart, 0
        for j in range(least, u - own + 1):
            joined = upper[u - j] + lower[j] + inside
            if joined < best:
                best, taken = joined, j
        upper[u], share[u] = best, taken


@compiled  # type: ignore[untyped-decorator]
def placement(parent: Array, size: Array, share: Array, other: Array, first: int) -> Array:
    """The clusters (k,) that the costs stand for when the first service is in `first`."""
    services = len(parent)
    placed, budget = np.zeros(services, np.int64), np.zeros(services, np.int64)
    placed[0], budget[0] = first, size[0, first]
    for v in range(services):
        # children were joined from the last to the first, so the first child chose last
        for w in range(v + 1, services):
            if parent[w] == v:
                taken = share[w, placed[v], budget[v]]
                budget[v] -= taken
                placed[w] = placed[v] if taken > 0 else other[w, placed[v]]
                budget[w] = taken if taken > 0 else size[w, placed[w]]
    return placed
