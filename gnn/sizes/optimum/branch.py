"""Branch and bound over the one thing that the dynamic program leaves out: parts that overfill a cluster together.

Where the placement behind a bound puts services S into a cluster without room for all of them, one of S must be
elsewhere: the first branch forbids the first of S that cluster, the next holds the first there and forbids the second,
and so on. The branches share no placement, and the best bound is looked at first, so the first placement that keeps all
rooms is the optimum (Land & Doig, 1960).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gnn.sizes.optimum.tree import below, placement
from gnn.sizes.world import Request
from prewarm.domain import BoolArray, FloatArray, IntArray, PrewarmError

MOST_NODES = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """latency_ms and clusters (k,) of an optimum; nodes: bounds that it took."""

    latency_ms: float
    placed: IntArray
    nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A request, delays (n, n) and free room (n,) before any of it was placed. placed: (k,) clusters of the services
    that are placed already, -1 for others. price: (n, m + 1) in ms of so many units in each cluster, m the request's
    need or the most room, whichever is less; None: nothing.
    """

    request: Request
    delay_ms: FloatArray
    free: IntArray
    placed: IntArray
    price: FloatArray | None = None

    @property
    def allowed(self) -> BoolArray:
        """Where each service may be, (k, n)."""
        clusters = np.arange(len(self.free))
        open_ = self.request.units[:, None] <= self.free[None, :]
        return np.where((self.placed < 0)[:, None], open_, self.placed[:, None] == clusters[None, :])


def unplaced(request: Request, delay_ms: FloatArray, free: IntArray) -> Problem:
    """The problem of a request of which nothing is placed."""
    return Problem(request, delay_ms, free, np.full(len(request.units), -1, np.int64))


def solve(problem: Problem, most_ms: float = np.inf) -> Best | None:
    """The optimum; None where there is no placement, or none of at most `most_ms`. Raises PrewarmError where the
    search is too long.
    """
    waiting: list[_Node] = []
    branches: Iterator[BoolArray] = iter((problem.allowed,))
    made = 0
    while True:
        for allowed in branches:
            least, placed = bound(problem, allowed)
            made += 1
            if least <= most_ms and np.isfinite(least):
                heapq.heappush(waiting, _Node(least, -made, placed, allowed))
        if not waiting:
            return None
        node = heapq.heappop(waiting)
        over = _overfull(problem, node.placed)
        if over is None:
            return Best(node.least_ms, node.placed, made)
        if made > MOST_NODES:
            raise PrewarmError(f"no optimum within {MOST_NODES} bounds")
        branches = _branches(problem, node, over)


def bound(problem: Problem, allowed: BoolArray) -> tuple[float, IntArray]:
    """A latency that no placement within `allowed` goes below, and the placement (k,) that it stands for."""
    least, size, share, other = _costs(problem, allowed)
    first = int(np.argmin(least))
    if not np.isfinite(least[first]):
        return float("inf"), problem.placed
    return float(least[first]), placement(problem.request.parent, size, share, other, first)


@dataclass(frozen=True, slots=True, order=True)
class _Node:
    """Ordered by bound, and the newest first among equals."""

    least_ms: float
    number: int
    placed: IntArray = field(compare=False)
    allowed: BoolArray = field(compare=False)


def _costs(problem: Problem, allowed: BoolArray) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    request = problem.request
    limit = np.minimum(problem.free, request.need)
    price = np.zeros((len(limit), int(limit.max()) + 1)) if problem.price is None else problem.price
    whole, size, share, other, _ = below(request.parent, request.units, allowed, limit, problem.delay_ms, price)
    return problem.delay_ms[request.ingress] + whole[0], size, share, other


def _overfull(problem: Problem, placed: IntArray) -> int | None:
    """The first cluster that gets more than its room."""
    taken = np.bincount(placed, weights=problem.request.units, minlength=len(problem.free))
    over = np.flatnonzero(taken > problem.free)
    return int(over[0]) if len(over) else None


def _branches(problem: Problem, node: _Node, cluster: int) -> Iterator[BoolArray]:
    units, room = problem.request.units, int(problem.free[cluster])
    held = node.allowed[:, cluster] & (node.allowed.sum(axis=1) == 1)
    loose = np.flatnonzero((node.placed == cluster) & ~held)
    for row in loose[np.argsort(-units[loose], kind="stable")].tolist():
        left = room - int(units[held].sum())
        if left < 0:
            return
        child = node.allowed.copy()
        child[held] = False
        child[held, cluster] = True
        child[~held & (units > left), cluster] = False
        child[row, cluster] = False
        yield child
        held[row] = True
