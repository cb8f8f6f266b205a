"""Future fill: what a node in some state would still take of the forecast (benchmarks B5; ours).

Each of K sequences of offers is placed into the node in order, whatever fits; the value is the mean of what the taken
offers count, in thousandths of GPUs (shares count less than they take), or of cores where the mix has no GPUs. All
nodes and all sequences advance together, one offer at a time; the cost is that of the offers and so a value is worth
remembering by state, as placement does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.nodes.mix import COUNT, CPU, GAIN, MASK, MEMORY, MILLI, Mix
from federation.nodes.offers import CUTS, Offers
from federation.nodes.rows import Rows
from federation.snapshot import GPU_WHOLE
from prewarm.domain import BoolArray, FloatArray, IntArray

MOST_CPU, MOST_GPU = 128_000, 8_000
"""A large node: thousandths of cores, and of GPUs."""
_TIDY = 6
"""Offers after which pairs that are full are dropped."""


@dataclass(frozen=True, slots=True)
class FutureFill:
    """A measure of nodes: V, what each would still take of what is to come, less the price of GPUs that it keeps open.

    A gain counts what the instance takes.
    """

    mix: Mix
    offers: Offers

    def value(self, rows: Rows) -> FloatArray:
        """V of each row, (g,), thousandths."""
        kept = (rows.gpu >= self.offers.keeping.share).sum(axis=1)
        worth: FloatArray = fill(rows, self.offers) - self.offers.keeping.price * kept
        return worth

    def beside(self, after: Rows, shape: IntArray) -> FloatArray:
        """What is taken, less a share of a thousandth that decides ties for the fuller node, (g,)."""
        left: FloatArray = after.cpu / MOST_CPU * 0.5 + after.gpu.sum(axis=1) / MOST_GPU * 0.5
        return float(shape[GAIN]) - left


def fill(rows: Rows, offers: Offers) -> FloatArray:
    """Mean over the sequences of what the offers count that each row takes, (g,)."""
    sequences = offers.spans.shape[1]
    if not len(rows) or not len(offers.table):
        return np.zeros(len(rows))
    state, step = _Filling.begin(rows, offers), 0
    while len(state.row):
        state.offer(offers.table, step)
        step += 1
        if step % _TIDY == 0:
            state.drop(step, offers)
    mean: FloatArray = state.taken / sequences
    return mean


@dataclass(slots=True)
class _Filling:
    """Nodes being filled, each once for each sequence, as p pairs; pairs that can take no more are dropped.

    row: (p,) whose pair it is. start, end: (p,) where its offers lie. taken: (g,) by all pairs of a row so far,
    as offers count.
    """

    row: IntArray
    start: IntArray
    end: IntArray
    cpu: IntArray
    memory: IntArray
    model: IntArray
    gpu: IntArray
    taken: FloatArray

    @classmethod
    def begin(cls, rows: Rows, offers: Offers) -> _Filling:
        """All pairs; a node whose emptiest GPU has little is not offered what is larger."""
        sequences = offers.spans.shape[1]
        emptiest = rows.gpu.max(axis=1) if rows.gpu.shape[1] else np.zeros(len(rows), dtype=np.int64)
        spans = offers.spans[np.searchsorted(CUTS, emptiest)]
        one = np.repeat(np.arange(len(rows)), sequences)
        span = spans.reshape(-1, 2)
        state = cls(
            one,
            span[:, 0],
            span[:, 1],
            rows.cpu[one],
            rows.memory[one],
            rows.model[one],
            rows.gpu[one],
            np.zeros(len(rows)),
        )
        state.drop(0, offers)
        return state

    def drop(self, step: int, offers: Offers) -> None:
        """Let go of pairs that have no offers left or can take none of worth."""
        kept = (self.start + step < self.end) & (self.cpu >= offers.least_cpu)
        if offers.for_gpus:
            kept &= self.gpu.any(axis=1)
        if kept.all():
            return
        for name in ("row", "start", "end", "cpu", "memory", "model", "gpu"):
            setattr(self, name, getattr(self, name)[kept])

    def offer(self, table: IntArray, step: int) -> None:
        """The next offer to every pair that has one."""
        at = self.start + step
        live = np.flatnonzero(at < self.end)
        shape = table[at[live]]
        fits = (self.cpu[live] >= shape[:, CPU]) & (self.memory[live] >= shape[:, MEMORY])
        fits &= (shape[:, COUNT] == 0) | ((shape[:, MASK] >> self.model[live]) & 1 == 1)
        pair, shape = live[fits], shape[fits]
        placed = self._use(pair, shape)
        pair, shape = pair[placed], shape[placed]
        self.cpu[pair] -= shape[:, CPU]
        self.memory[pair] -= shape[:, MEMORY]
        self.taken += np.bincount(self.row[pair], weights=shape[:, GAIN], minlength=len(self.taken))

    def _use(self, pair: IntArray, shape: IntArray) -> BoolArray:
        """Take GPUs for those that ask, best fit for shares; which pairs take the offer."""
        placed: BoolArray = shape[:, COUNT] == 0
        asking = np.flatnonzero(~placed)
        free, count, milli = self.gpu[pair[asking]], shape[asking, COUNT], shape[asking, MILLI]
        enough = free >= milli[:, None]
        able = enough.sum(axis=1) >= count
        asking, free, enough, count, milli = asking[able], free[able], enough[able], count[able], milli[able]
        if not len(asking):
            return placed
        placed[asking] = True
        share = milli < GPU_WHOLE
        used = enough & (np.cumsum(enough, axis=1) <= count[:, None])
        device = np.where(enough, free, np.iinfo(np.int64).max).argmin(axis=1)
        used[share] = False
        free[used] = 0
        some = np.flatnonzero(share)
        free[some, device[some]] -= milli[some]
        self.gpu[pair[asking]] = free
        return placed
