"""An upper bound on allocation: a cutting-stock LP over patterns of one GPU, with column generation (HiGHS).

A pattern is what one GPU holds: a whole GPU of some pod, or shares that sum to at most 1,000. Pods may be split over
GPUs' worth and rejected, CPU and memory are pooled over nodes of one kind, and pods that need no GPU are left out; each
relaxes the real question, so no policy can allocate more. Patterns are added by price until none improves
(Gilmore and Gomory, 1961); the value is then the LP's own, up to the tolerance that is added.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from federation.bench.packing.trace import Trace
from federation.nodes.mix import COUNT, CPU, MASK, MEMORY, MILLI, MODEL
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, IntArray, PrewarmError

_GRAIN = 10
_TOLERANCE = 1e-7
_MOST_ROUNDS = 300


@dataclass(slots=True)
class _Master:
    """Rows: GPUs, CPU and memory of each kind, then arrivals of each shape (in GPUs' worth). Columns: patterns."""

    shapes: IntArray
    limits: FloatArray
    kinds: IntArray
    columns: list[FloatArray] = field(default_factory=list)
    worth: list[float] = field(default_factory=list)
    known: set[bytes] = field(default_factory=set)

    def add(self, kind: int, uses: IntArray) -> bool:
        """Add a pattern, (s,) pieces; False where it is there already."""
        column = np.zeros(len(self.limits))
        column[3 * kind] = 1.0
        per_piece = self.shapes / np.maximum(self.shapes[:, [COUNT]], 1)
        column[3 * kind + 1] = uses @ per_piece[:, CPU] / GPU_WHOLE
        column[3 * kind + 2] = uses @ per_piece[:, MEMORY] / GPU_WHOLE
        column[3 * len(self.kinds) :] = uses
        if column.tobytes() in self.known:
            return False
        self.known.add(column.tobytes())
        self.columns.append(column)
        self.worth.append(float(uses @ self.shapes[:, MILLI]))
        return True

    def solve(self) -> tuple[float, FloatArray]:
        """The value of the LP over the patterns so far, and the price of each row."""
        matrix = csr_array(np.array(self.columns).T)
        # the stubs know no sparse matrix
        answer = linprog(-np.array(self.worth), A_ub=matrix, b_ub=self.limits, method="highs")  # type: ignore[call-overload]
        if answer.status != 0:
            raise PrewarmError(f"bound: {answer.message}")
        return -float(answer.fun), -np.asarray(answer.ineqlin.marginals, dtype=np.float64)


def allocation_bound(trace: Trace, arrived: IntArray) -> float:
    """The most GPU allocation, as a share of the GPUs there, that any placement of these arrivals can reach.

    arrived: (s,) arrivals of each shape of the mix.
    """
    asking = np.flatnonzero((arrived > 0) & (trace.mix.shapes[:, COUNT] > 0))
    shapes = trace.mix.table[asking]
    if not len(shapes):
        return 0.0
    kinds, number, counts = np.unique(trace.nodes, axis=0, return_inverse=True, return_counts=True)
    gpus = np.bincount(number.ravel(), weights=(trace.gpus.sum(axis=1) / GPU_WHOLE))
    pooled = np.column_stack([gpus, kinds[:, CPU] * counts / GPU_WHOLE, kinds[:, MEMORY] * counts / GPU_WHOLE])
    limits = np.concatenate([pooled.ravel(), arrived[asking] * shapes[:, COUNT]])
    master = _Master(shapes, limits.astype(np.float64), kinds)
    for kind in range(len(kinds)):
        for one in range(len(shapes)):
            if (shapes[one, MASK] >> kinds[kind, MODEL]) & 1:
                master.add(kind, np.eye(len(shapes), dtype=np.int64)[one])
    for _ in range(_MOST_ROUNDS):
        value, price = master.solve()
        missing = [_better(master, kind, price) for kind in range(len(kinds))]
        gap = float(sum(gain * gpus[kind] for kind, (gain, _) in enumerate(missing)))
        added = sum(master.add(kind, uses) for kind, (gain, uses) in enumerate(missing) if gain > 0)
        if gap <= _TOLERANCE * max(value, 1.0) or not added:
            return min(1.0, (value + gap) / trace.capacity)
    raise PrewarmError("bound: column generation did not end")


def _better(master: _Master, kind: int, price: FloatArray) -> tuple[float, IntArray]:
    """The pattern of most reduced worth on one kind of node, and that worth (0 where none is positive)."""
    shapes = master.shapes
    per_piece = shapes / np.maximum(shapes[:, [COUNT]], 1)
    start = 3 * len(master.kinds)
    cost = per_piece[:, CPU] * price[3 * kind + 1] + per_piece[:, MEMORY] * price[3 * kind + 2]
    worth = shapes[:, MILLI] - cost / GPU_WHOLE - price[start:]
    allowed = (shapes[:, MASK] >> master.kinds[kind, MODEL]) & 1 == 1
    uses = _knapsack(shapes[:, MILLI] // _GRAIN, np.where(allowed, worth, -np.inf))
    gain = float(uses @ np.where(uses > 0, worth, 0.0)) - price[3 * kind]
    return max(gain, 0.0), uses


def _knapsack(size: IntArray, worth: FloatArray) -> IntArray:
    """The best multiset of pieces of at most one GPU, (s,) pieces; sizes rounded down, so never too little."""
    best_of: dict[int, int] = {}
    for piece in np.flatnonzero(worth > 0).tolist():
        now = best_of.get(int(size[piece]))
        if now is None or worth[piece] > worth[now]:
            best_of[int(size[piece])] = piece
    room = GPU_WHOLE // _GRAIN
    value, last = np.zeros(room + 1), np.full(room + 1, -1)
    for total in range(1, room + 1):
        value[total] = value[total - 1]
        for amount, piece in best_of.items():
            if amount <= total and value[total - amount] + worth[piece] > value[total] + 1e-12:
                value[total], last[total] = value[total - amount] + worth[piece], piece
    uses, left = np.zeros(len(size), dtype=np.int64), room
    while left > 0:
        if last[left] < 0:
            left -= 1
            continue
        uses[last[left]] += 1
        left -= int(size[last[left]])
    return uses
