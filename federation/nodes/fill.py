"""Future fill: what a node in some state would still take of the forecast (benchmarks B5; ours).

Each of K sequences of offers is placed into the node in order, whatever fits; the value is the mean taken, in
thousandths of GPUs, or of cores where the mix has no GPUs. All nodes and all sequences advance together, one offer at a
time; the cost is that of the offers and so a value is worth remembering by state, as placement does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.nodes.mix import COUNT, CPU, GAIN, MASK, MEMORY, MILLI, Mix
from federation.nodes.offers import Offers
from federation.nodes.rows import Rows
from federation.snapshot import GPU_WHOLE
from prewarm.domain import BoolArray, FloatArray, IntArray

MOST_CPU, MOST_GPU = 128_000, 8_000
"""A large node: thousandths of cores, and of GPUs."""


@dataclass(frozen=True, slots=True)
class FutureFill:
    """A measure of nodes: V, what each would still take of what is to come. A gain counts what the instance takes."""

    mix: Mix
    offers: Offers

    def value(self, rows: Rows) -> FloatArray:
        """V of each row, (g,), thousandths."""
        return fill(rows, self.offers)

    def beside(self, after: Rows, shape: IntArray) -> FloatArray:
        """What is taken, less a share of a thousandth that decides ties for the fuller node, (g,)."""
        left: FloatArray = after.cpu / MOST_CPU * 0.5 + after.gpu.sum(axis=1) / MOST_GPU * 0.5
        return float(shape[GAIN]) - left


def fill(rows: Rows, offers: Offers) -> FloatArray:
    """Mean taken by each row over the sequences, (g,)."""
    spans = offers.spans[-1]
    if not len(rows) or not len(spans):
        return np.zeros(len(rows))
    state = _Filling.start(rows, len(spans))
    for step in range(offers.longest):
        at = spans[:, 0] + step
        live = at < spans[:, 1]
        state.offer(offers.table[np.where(live, at, 0)], live)
    mean: FloatArray = state.taken.mean(axis=1)
    return mean


@dataclass(slots=True)
class _Filling:
    """Nodes being filled, (g, K) and (g, K, D)."""

    cpu: IntArray
    memory: IntArray
    model: IntArray
    gpu: IntArray
    taken: FloatArray

    @classmethod
    def start(cls, rows: Rows, sequences: int) -> _Filling:
        """Every node once for each sequence."""
        return cls(
            np.repeat(rows.cpu[:, None], sequences, axis=1),
            np.repeat(rows.memory[:, None], sequences, axis=1),
            rows.model[:, None],
            np.repeat(rows.gpu[:, None, :], sequences, axis=1),
            np.zeros((len(rows), sequences)),
        )

    def offer(self, shape: IntArray, live: BoolArray) -> None:
        """One offer a sequence, (K, 6), to every node."""
        count, milli = shape[:, COUNT], shape[:, MILLI]
        fits = live & (self.cpu >= shape[:, CPU]) & (self.memory >= shape[:, MEMORY])
        asks = count > 0
        fits &= ~asks | ((shape[:, MASK] >> self.model) & 1 == 1)
        if asks.any():
            self._use(fits, asks, count, milli)
        self.cpu -= np.where(fits, shape[:, CPU], 0)
        self.memory -= np.where(fits, shape[:, MEMORY], 0)
        self.taken += np.where(fits, shape[:, GAIN], 0)

    def _use(self, fits: BoolArray, asks: BoolArray, count: IntArray, milli: IntArray) -> None:
        """Take GPUs wherever cores and memory would do; where GPUs do not, `fits` becomes False."""
        node, sequence = np.nonzero(fits & asks)
        free = self.gpu[node, sequence]
        enough = free >= milli[sequence, None]
        able = enough.sum(axis=1) >= count[sequence]
        fits[node[~able], sequence[~able]] = False
        node, sequence, free, enough = node[able], sequence[able], free[able], enough[able]
        if not len(node):
            return
        share = np.flatnonzero(milli[sequence] < GPU_WHOLE)
        device = np.where(enough, free, np.iinfo(np.int64).max).argmin(axis=1)
        free[share, device[share]] -= milli[sequence[share]]
        used = enough & (np.cumsum(enough, axis=1) <= count[sequence, None])
        used[share] = False
        free[used] = 0
        self.gpu[node, sequence] = free
