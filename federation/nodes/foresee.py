"""How room for each shape will decline: the rule itself, run on what is forecast over a sample of the nodes.

Room falls neither evenly nor alike for all shapes: the rule spreads small shares while whole GPUs are still worth more,
so large shapes lose their room late and at once, and small ones keep some to the end. A run needs a forecast of the
decline and yields one; it starts from room as it is now, and each further run takes the mean of those before.

Compiled, so it is for a process of its own: numba is imported by the call, not with this module.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.nodes.mix import COUNT, CPU, Mix
from federation.nodes.offers import STRETCHES, offers_of
from federation.nodes.rows import Rows
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, IntArray

NODES = 304
"""Nodes of the sample."""
RUNS = 6
MOST_ARRIVALS = 4_800
"""Arrivals of one run; a sample that would see more is looked at for as long as these last."""
LEAST_NODES = 0.5
SEED = 11
_MEMO_BITS = 18


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be foreseen. nodes: single ones, a sample of all; arrivals: of the mix, that come to them."""

    nodes: Rows
    mix: Mix
    arrivals: float


def foresee(question: Question) -> FloatArray:
    """Nodes with room for each shape at the start of each stretch, as a share of those now, (s, STRETCHES).

    Two to fifteen seconds of a processor for three hundred nodes: for another process.
    """
    rows, number = question.nodes, min(round(question.arrivals), MOST_ARRIVALS)
    if not number or not rows.gpu.any() or not question.mix.demand.any():
        return np.ones((len(question.mix.shapes), STRETCHES))
    room = run_through(question, number, None, 0)
    for turn in range(1, RUNS):
        room = (room + run_through(question, number, room, turn)) / 2
    return decline_of(room)


def warm_up() -> FloatArray:
    """Compile the kernels by asking about a node with one GPU; numba keeps what it compiled, for all processes."""
    one = np.ones(1)
    mix = Mix(np.array([[1, 1, 1, GPU_WHOLE]]), one, np.ones((1, 1), dtype=np.bool_), ())
    node = Rows(np.array([2]), np.array([2]), np.array([0]), np.array([[GPU_WHOLE]]))
    return foresee(Question(node, mix, 1.0))


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


def even_arrivals(mix: Mix, number: int, rng: np.random.Generator) -> IntArray:
    """Rows of a mix as they may arrive, (number,): each as often as is expected, within one, evenly over time.

    Chance is left to the order. More of it says little of how room declines, and hides it.
    """
    ends = np.cumsum(mix.probability)
    shape = np.searchsorted(ends / ends[-1], (np.arange(number) + rng.random()) / number, side="right")
    count = np.bincount(shape, minlength=len(ends))
    rank = np.arange(number) - (np.cumsum(count) - count)[shape]
    arrivals: IntArray = shape[np.argsort((rank + rng.random(number)) / count[shape])]
    return arrivals


def run_through(question: Question, arrivals: int, room: FloatArray | None, turn: int) -> FloatArray:
    """One run: nodes with room for each shape at the start of each stretch, (s, STRETCHES).

    room: the same of earlier runs, None where room is taken to stay.
    """
    from federation.nodes.judging import new_memo, packed, place_all
    from federation.nodes.kernels import count_fitting

    mix, fleet, memo = question.mix, _fleet(question.nodes), new_memo(_MEMO_BITS)
    shapes = even_arrivals(mix, arrivals, np.random.default_rng((SEED, turn)))
    least = int(mix.shapes[mix.shapes[:, COUNT] > 0, CPU].min())
    seen = np.zeros((len(mix.shapes), STRETCHES))
    for at in range(STRETCHES):
        seen[:, at] = count_fitting(*fleet, mix.table)
        left = np.full(STRETCHES - at, arrivals / STRETCHES)
        later = None if room is None else decline_of(room[:, at:])
        offers = offers_of(mix, left, (seen[:, at], float(len(fleet[0]))), seed=(SEED, at), decline=later)
        memo[0][:] = 0
        here = shapes[at * arrivals // STRETCHES : (at + 1) * arrivals // STRETCHES]
        place_all(fleet, mix.table, here, packed(offers), least, memo)
    return seen


def _fleet(rows: Rows) -> tuple[IntArray, IntArray]:
    """Nodes and GPUs as the kernels lay them out; a node has as many GPUs as the widest, some of them full."""
    wide = np.full(len(rows), rows.gpu.shape[1])
    return np.column_stack([rows.cpu, rows.memory, rows.model, wide]).astype(np.int64), rows.gpu.astype(np.int64)
