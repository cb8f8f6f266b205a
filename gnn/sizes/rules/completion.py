"""How the rest of a request would end if each service took what looks best at its turn: for every cluster in question.

What looks best is the link and the least delay and price below, as the program over the tree tells for the room of now.
Room is taken as it goes, so services that want the same hole do know of each other: the result is what can certainly be
had, while the program's own figure is what cannot be beaten.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

Array = Any
compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def completed(
    tree: tuple[Array, Array], question: tuple[int, Array, Array, Array], below: Array, delay: Array, cost: Array
) -> tuple[Array, Array]:
    """Delay (p,) of all services after this one, infinite where one finds no room, and change of what holes cost (p,).

    tree: parents and units. question: service, candidates, placed (k,), free (n,). below: (k, n) for each service.
    cost: of a cluster by units left.
    """
    service, candidates, placed, free = question
    later, price = np.zeros(len(candidates)), np.zeros(len(candidates))
    for i in range(len(candidates)):
        left, places = free.copy(), placed.copy()
        places[service] = candidates[i]
        left[candidates[i]] -= tree[1][service]
        later[i] = _on_from(tree, service + 1, (places, left), below, delay)
        for c in range(len(free)):
            price[i] += cost[left[c]] - cost[free[c]]
    return later, price


@compiled  # type: ignore[untyped-decorator]
def _on_from(tree: tuple[Array, Array], first: int, state: tuple[Array, Array], below: Array, delay: Array) -> float:
    """Delay of the services from `first` on; state: their places and the room left, both are changed."""
    parent, units = tree
    places, left = state
    total = 0.0
    for w in range(first, len(parent)):
        best, at, above = np.inf, -1, places[parent[w]]
        for c in range(len(left)):
            if left[c] >= units[w] and delay[above, c] + below[w, c] < best:
                best, at = delay[above, c] + below[w, c], c
        if at < 0:
            return np.inf
        places[w] = at
        left[at] -= units[w]
        total += delay[above, at]
    return total
