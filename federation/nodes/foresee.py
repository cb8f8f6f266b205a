"""How room for each shape will decline: the rule itself, run on what is forecast over a sample of the nodes.

Room falls neither evenly nor alike for all shapes: the rule spreads small shares while whole GPUs are still worth more,
so large shapes lose their room late and at once, and small ones keep some to the end. A run needs a forecast of the
decline and yields one; it starts from room as it is now, and each further run takes the mean of those before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from federation.nodes.change import gain
from federation.nodes.fill import FutureFill
from federation.nodes.mix import Mix
from federation.nodes.offers import STRETCHES, draw_offers, expected_offers
from federation.nodes.rows import Rows
from prewarm.domain import FloatArray, IntArray

NODES = 76
"""Nodes of the sample."""
RUNS = 3
SEQUENCES = 16
MOST_ARRIVALS = 1_200
"""Arrivals of one run; a sample that would see more is looked at for as long as these last."""
LEAST_NODES = 0.5
SEED = 11


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be foreseen. nodes: single ones, a sample of all; arrivals: of the mix, that come to them."""

    nodes: Rows
    mix: Mix
    arrivals: float


def foresee(question: Question) -> FloatArray:
    """Nodes with room for each shape at the start of each stretch, as a share of those now, (s, STRETCHES).

    Ten seconds and more of a processor for a hundred shapes: for another process.
    """
    rows, mix, number = question.nodes, question.mix, min(round(question.arrivals), MOST_ARRIVALS)
    room: FloatArray | None = None
    for turn in range(RUNS if number and len(rows) else 0):
        run = _Run(rows, mix, np.random.default_rng((SEED, turn)), room)
        seen = run.through(number)
        room = seen if room is None else (room + seen) / 2
    return np.ones((len(mix.shapes), STRETCHES)) if room is None else decline_of(room)


def decline_of(room: FloatArray) -> FloatArray:
    """Nodes with room as a share of those at the start; half a node is left."""
    least = np.maximum(room, LEAST_NODES)
    share: FloatArray = least / least[:, :1]
    return share


def sampled(rows: Rows, count: FloatArray, nodes: int = NODES) -> Rows:
    """About so many single nodes, spread evenly over rows of `count` alike, (g,); all where there are few.

    Rows are taken in the order of their GPUs, their model and their cores, so that every kind has its share.
    """
    order = np.lexsort((rows.cpu, rows.model, rows.gpu.sum(axis=1)))
    ends = np.cumsum(count[order])
    total = float(ends[-1]) if len(ends) else 0.0
    number = min(nodes, int(total))
    at = (np.arange(number) + 0.5) * total / max(number, 1)
    return rows.take(order[np.searchsorted(ends, at, side="right")])


@dataclass(slots=True)
class _Run:
    """One run: gains of each shape are kept, and brought up to date for the nodes that changed since."""

    rows: Rows
    mix: Mix
    rng: np.random.Generator
    room: FloatArray | None
    _gains: dict[int, tuple[FloatArray, IntArray, int]] = field(default_factory=dict)
    _changed: list[int] = field(default_factory=list)

    def through(self, arrivals: int) -> FloatArray:
        """Nodes with room for each shape at the start of each stretch, (s, STRETCHES)."""
        self.rows = self.rows.take(np.arange(len(self.rows)))
        shapes = self.rng.choice(len(self.mix.shapes), arrivals, p=self.mix.probability).tolist()
        seen = np.zeros((len(self.mix.shapes), STRETCHES))
        for stretch in range(STRETCHES):
            seen[:, stretch] = [self.rows.fits(shape).sum() for shape in self.mix.table]
            here = shapes[stretch * arrivals // STRETCHES : (stretch + 1) * arrivals // STRETCHES]
            measure = self._measure(stretch, seen[:, stretch], arrivals)
            self._gains.clear()
            self._changed.clear()
            for shape in here:
                if seen[shape, stretch]:
                    self._place(shape, measure)
        return seen

    def _measure(self, stretch: int, room: FloatArray, arrivals: int) -> FutureFill:
        each = np.full(STRETCHES - stretch, arrivals / STRETCHES)
        later = None if self.room is None else decline_of(self.room[:, stretch:])
        rates = expected_offers(self.mix, each, room, float(len(self.rows)), later)
        return FutureFill(self.mix, draw_offers(self.mix, rates, SEED, SEQUENCES))

    def _place(self, shape: int, measure: FutureFill) -> None:
        """Put one where the gain is highest, if anywhere."""
        row, every = self.mix.table[shape], np.arange(len(self.rows))
        gains, device, seen = self._gains.get(shape, (np.zeros(len(every)), np.zeros(len(every), dtype=np.int64), -1))
        stale = every if seen < 0 else np.unique(np.array(self._changed[seen:], dtype=np.int64))
        if len(stale):
            gains[stale], device[stale] = gain(self.rows.take(stale), row, measure)
        self._gains[shape] = (gains, device, len(self._changed))
        if np.isnan(gains).all():
            return
        node = int(np.nanargmax(gains))
        self.rows.put(node, self.rows.take(np.array([node])).after(row, device[node : node + 1]))
        self._changed.append(node)
