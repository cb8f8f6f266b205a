"""Our rule: place where what the forecast could still fill is harmed least, with room foreseen by simulation.

At each of `STRETCHES` moments of the run the nodes with room for each shape are counted, offers for the rest of the run
are drawn, and every node is worth what it would still take of them; a pod goes where V(after) + demand - V(before) is
highest. How room will decline is foreseen by running the rule itself on the forecast: other seeds' arrivals and a
quarter of the nodes, `ROUNDS` times, each with the decline that the rounds before have shown. One set of constants for
every variant; nothing of the measured seed is known but what has arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numba
import numpy as np

from federation.bench.packing.fleet import Fleet, best_node, run_course
from federation.bench.packing.trace import Arrivals, Trace, draw_arrivals
from federation.nodes.kernels import count_fitting, fill_value, has_room, mark, use
from federation.nodes.mix import COUNT, CPU, Mix
from federation.nodes.offers import Offers, draw_offers, expected_offers
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, IntArray

STRETCHES = 26
ROUNDS = 3
PART = 4
FORECAST_SEEDS = (100, 101)
OFFERS_SEED = 5
_MEMO = 1 << 20
_HALF_NODE = 0.5
_compile = numba.njit(cache=True)


def _remembered(
    node: IntArray, gpu: IntArray, offers: tuple[IntArray, IntArray], least_cpu: int, memo: tuple[IntArray, FloatArray]
) -> float:
    """The value of a state, looked up by its mark first."""
    marks, values = memo
    own = mark(node, gpu)
    at = own & (len(marks) - 1)
    if marks[at] != own:
        values[at] = fill_value(node, gpu, offers[0], offers[1], least_cpu)
        marks[at] = own
    return float(values[at])


remembered = cast("Callable[..., float]", _compile(_remembered))


def _judge_node(
    node: IntArray,
    gpu: IntArray,
    shape: IntArray,
    offers: tuple[IntArray, IntArray],
    least_cpu: int,
    memo: tuple[IntArray, FloatArray],
) -> tuple[float, int]:
    """The gain of one of a shape on a node, and the GPU for which it is highest."""
    before = remembered(node, gpu, offers, least_cpu, memo)
    after, free = node.copy(), gpu.copy()
    after[0] -= shape[0]
    after[1] -= shape[1]
    best, device = -np.inf, -1
    share = shape[2] == 1 and shape[3] < GPU_WHOLE
    for at in range(node[3] if share else 1):
        if share and (gpu[at] < shape[3] or (at > 0 and gpu[at] == gpu[at - 1])):
            continue
        free[:] = gpu
        use(free, shape, at)
        value = remembered(after, free, offers, least_cpu, memo)
        if value > best:
            best, device = value, at
    fuller = after[0] / 128_000 * 0.5 + (gpu.sum() - shape[2] * shape[3]) / 8_000 * 0.5
    return best - before + shape[2] * shape[3] - fuller, device


judge_node = cast("Callable[..., tuple[float, int]]", _compile(_judge_node))


def _judge_rows(
    fleet: tuple[IntArray, IntArray],
    shape: IntArray,
    offers: tuple[IntArray, IntArray],
    least_cpu: int,
    memo: tuple[IntArray, FloatArray],
    out: tuple[FloatArray, IntArray, IntArray],
) -> None:
    nodes, gpus = fleet
    score, device, chosen = out
    for node in chosen:
        score[node] = -np.inf
        if has_room(nodes[node], gpus[node], shape):
            score[node], device[node] = judge_node(nodes[node], gpus[node], shape, offers, least_cpu, memo)


judge_rows = cast("Callable[..., None]", _compile(_judge_rows))


@dataclass(slots=True)
class Foreseen:
    """The rule for one run. expected: arrivals. room: (s, STRETCHES) nodes with room as foreseen, None: as now."""

    mix: Mix
    expected: float
    room: FloatArray | None = None
    seen: FloatArray = field(init=False)
    _offers: Offers | None = None
    _stretch: int = -1
    _memo: tuple[IntArray, FloatArray] = field(init=False)

    def __post_init__(self) -> None:
        self.seen = np.zeros((len(self.mix.shapes), STRETCHES))
        self._memo = (np.zeros(_MEMO, dtype=np.int64), np.zeros(_MEMO))

    def begin(self, fleet: Fleet, came: int) -> bool:
        """At the start of a stretch, count room and draw the offers that are left."""
        stretch = min(int(came * STRETCHES / self.expected), STRETCHES - 1)
        if stretch == self._stretch:
            return False
        self._stretch = stretch
        now = count_fitting(fleet.nodes, fleet.gpus, fleet.table).astype(np.float64)
        self.seen[:, stretch] = now
        arrivals = np.full(STRETCHES - stretch, self.expected / STRETCHES)
        rates = expected_offers(self.mix, arrivals, now, len(fleet.nodes), self._decline(stretch))
        self._offers = draw_offers(self.mix, rates, OFFERS_SEED)
        self._memo[0][:] = 0
        return True

    def judge(self, fleet: Fleet, shape: int, nodes: IntArray) -> None:
        """By the change of what the forecast could still fill."""
        assert self._offers is not None
        offers, out = (self._offers.table, self._offers.spans), (fleet.score[shape], fleet.device[shape], nodes)
        least = int(self.mix.shapes[self.mix.shapes[:, COUNT] > 0, CPU].min())
        judge_rows((fleet.nodes, fleet.gpus), fleet.table[shape], offers, least, self._memo, out)

    def choose(self, fleet: Fleet, shape: int) -> int:
        """The best."""
        return best_node(fleet, shape)

    def _decline(self, stretch: int) -> FloatArray | None:
        if self.room is None:
            return None
        later = np.maximum(self.room[:, stretch:], _HALF_NODE)
        return later / later[:, :1]


def expected_arrivals(trace: Trace, ratio: float, seeds: Sequence[int] = FORECAST_SEEDS) -> float:
    """Arrivals until `ratio` is reached: the mean of other seeds."""
    return float(np.mean([len(draw_arrivals(trace, seed, ratio).shape) for seed in seeds]))


def foresee_room(trace: Trace, ratio: float, seeds: Sequence[int] = FORECAST_SEEDS) -> FloatArray:
    """Nodes with room for each shape over the run, (s, STRETCHES), from simulating the forecast."""
    room: FloatArray | None = None
    for _ in range(ROUNDS):
        runs = []
        for at, seed in enumerate(seeds):
            part = part_of(trace, draw_arrivals(trace, seed, ratio), at)
            rule = Foreseen(trace.mix, float(len(part.shape)), room)
            run_course(trace, part, rule)
            runs.append(rule.seen)
        seen: FloatArray = np.mean(runs, axis=0)
        room = seen if room is None else (room + seen) / 2
    assert room is not None
    return room


def part_of(trace: Trace, arrivals: Arrivals, offset: int) -> Arrivals:
    """Every fourth arrival on a quarter of the nodes, loaded as the whole is."""
    nodes = arrivals.order[: len(arrivals.order) // PART]
    shape = arrivals.shape[offset % PART :: PART]
    share = trace.gpus[nodes].sum() / trace.capacity * len(arrivals.shape)
    return Arrivals(shape[: max(1, int(min(share, len(shape))))], nodes)
