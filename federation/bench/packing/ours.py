"""Our rule: place where what the forecast could still fill is harmed least, with room foreseen by simulation.

At each of `STRETCHES` moments of the run the nodes with room for each shape are counted, offers for the rest of the run
are drawn, and every node is worth what it would still take of them; a pod goes where V(after) + demand - V(before) is
highest. The mix is learned from other seeds' arrivals, and how room will decline is foreseen from an empty fleet. Mix,
offers and foresight are the service's own functions (`federation.nodes`); only the judging of nodes is compiled, as it
is where the service foresees, and a test holds it to the judging of the service. One set of constants for every
variant; nothing of the measured seed is known but what has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from federation.bench.packing.fleet import Fleet, best_node
from federation.bench.packing.trace import Trace, draw_arrivals
from federation.nodes.foresee import Question, foresee, sampled
from federation.nodes.judging import Memo, judge_rows, new_memo, packed
from federation.nodes.kernels import count_fitting
from federation.nodes.mix import COUNT, CPU, Mix
from federation.nodes.offers import STRETCHES, Offers
from federation.nodes.outlook import Room, offers_to_come
from federation.nodes.rows import Rows
from prewarm.domain import FloatArray, IntArray

FORECAST_SEEDS = (100, 101)
_MEMO_BITS = 20


@dataclass(slots=True)
class Foreseen:
    """The rule for one run. expected: arrivals. decline: (s, STRETCHES) of room, foreseen from the start, or None."""

    mix: Mix
    expected: float
    decline: FloatArray | None = None
    offers: Offers | None = None
    _stretch: int = -1
    _memo: Memo = field(default_factory=lambda: new_memo(_MEMO_BITS))

    def begin(self, fleet: Fleet, came: int) -> bool:
        """At the start of a stretch, count room and draw the offers that are left."""
        stretch = min(int(came * STRETCHES / self.expected), STRETCHES - 1)
        if stretch == self._stretch:
            return False
        self._stretch = stretch
        left = np.full(STRETCHES - stretch, self.expected / STRETCHES)
        later = None if self.decline is None else self.decline[:, stretch:] / self.decline[:, stretch : stretch + 1]
        self.offers = offers_to_come(self.mix, left, room_now(fleet, self.mix), later)
        self._memo[0][:] = 0
        return True

    def judge(self, fleet: Fleet, shape: int, nodes: IntArray) -> None:
        """By the change of what the forecast could still fill."""
        assert self.offers is not None
        offers, out = packed(self.offers), (fleet.score[shape], fleet.device[shape], nodes)
        least = int(self.mix.shapes[self.mix.shapes[:, COUNT] > 0, CPU].min())
        judge_rows((fleet.nodes, fleet.gpus), fleet.table[shape], offers, least, self._memo, out)

    def choose(self, fleet: Fleet, shape: int) -> int:
        """The best."""
        return best_node(fleet, shape)


def room_now(fleet: Fleet, mix: Mix) -> Room:
    """What is free on the nodes of a run."""
    room = count_fitting(fleet.nodes, fleet.gpus, mix.table).astype(np.float64)
    return Room(room, float(len(fleet.nodes)), float(fleet.nodes[:, CPU].sum()), float(fleet.gpus.sum()))


def learned_mix(trace: Trace, ratio: float, seeds: Sequence[int] = FORECAST_SEEDS) -> Mix:
    """The shapes as often as they came in other seeds' arrivals."""
    came = [np.bincount(draw_arrivals(trace, seed, ratio).shape, minlength=len(trace.mix.shapes)) for seed in seeds]
    total = np.sum(came, axis=0)
    return replace(trace.mix, probability=total / total.sum())


def expected_arrivals(trace: Trace, ratio: float, seeds: Sequence[int] = FORECAST_SEEDS) -> float:
    """Arrivals until `ratio` is reached: the mean of other seeds."""
    return float(np.mean([len(draw_arrivals(trace, seed, ratio).shape) for seed in seeds]))


def foresee_room(trace: Trace, mix: Mix, expected: float) -> FloatArray:
    """How room declines from an empty fleet on, (s, STRETCHES), as the service foresees it."""
    rows = Rows(trace.nodes[:, 0], trace.nodes[:, 1], trace.nodes[:, 2], trace.gpus)
    sample = sampled(rows, np.ones(len(rows)))
    share = float(sample.gpu.sum()) / trace.capacity
    return foresee(Question(sample, mix, expected * share))
