"""The forecast that nodes are judged by: the mix of work that is known, how much of it is still to come, and the room.

What will be asked for is taken to be like what is wanted now, by instances, with the growth that is forecast on top;
work whose shape nobody knows is left out and counted. Work is expected until `load` times the GPUs (the cores, where
nobody asks for GPUs) are asked for, or at least until what is free is full. How room declines meanwhile is foreseen by
`foresee`, elsewhere and later, since it takes seconds. `bench openb` draws its offers, and foresees, with the same
functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from federation.nodes.change import gpus_of, model_bits
from federation.nodes.foresee import Question, sampled
from federation.nodes.mix import GAIN, Mix
from federation.nodes.offers import FORESEEN_SEQUENCES, STRETCHES, Offers, offers_of
from federation.nodes.rows import MIB, Rows, model_of, rows_of
from federation.placement.workload import GpuNeed
from federation.snapshot import Nodes
from prewarm.domain import BoolArray, FloatArray

OFFERS_SEED = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """Instances of one shape. there: they hold room. wanted: with those that wait. growth: forecast on top."""

    requests: Mapping[str, int]
    gpu: GpuNeed
    there: int
    wanted: int
    growth: float = 0.0


@dataclass(frozen=True, slots=True)
class Room:
    """What a fleet has free now. room: (s,) nodes that take one of each shape of a mix. cpu, gpu: thousandths."""

    room: FloatArray
    nodes: float
    cpu: float
    gpu: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """A mix, instances of it that are still to come, the room that there is, and the offers to a node that follow.

    known, unknown: instances that the mix was learned from, and those whose shape nobody told. foreseen: whether the
    offers follow a forecast of how room declines.
    """

    mix: Mix
    arrivals: float
    free: Room
    offers: Offers
    known: int
    unknown: int
    foreseen: bool = False

    def foreseeing(self, decline: FloatArray) -> Outlook:
        """With offers that follow room as it declines, (s, STRETCHES)."""
        offers = offers_to_come(self.mix, _evenly(self.arrivals), self.free, decline)
        return replace(self, offers=offers, foreseen=True)

    def question(self, nodes: Sequence[Nodes]) -> Question:
        """What has to be foreseen for that: the rule on a sample of the nodes, with their part of what is to come."""
        rows, open_ = _joined(nodes, self.mix)
        sample = sampled(rows, open_)
        share = float(sample.gpu.sum()) / max(self.free.gpu, 1.0)
        return Question(sample, self.mix, self.arrivals * share)


def outlook_of(wanted: Iterable[Wanted], nodes: Sequence[Nodes], *, load: float, unknown: int = 0) -> Outlook | None:
    """The outlook of a fleet with these nodes, with room as it is now; None where no shape is known."""
    counted = _counted(wanted)
    mix = known_mix(counted, nodes)
    if mix is None:
        return None
    free = room_of(nodes, mix)
    arrivals = to_come(counted, mix, free, load)
    offers = offers_to_come(mix, _evenly(arrivals), free, None)
    return Outlook(mix, arrivals, free, offers, sum(one.wanted for one in counted), unknown)


def known_mix(wanted: Iterable[Wanted], nodes: Sequence[Nodes]) -> Mix | None:
    """The mix of what is wanted of a fleet with these nodes, cheap beside an outlook; None as there."""
    counted = _counted(wanted)
    kinds = {kind for each in nodes for kind in each.classes}
    models = tuple(sorted({name for kind in kinds if (name := model_of(kind)) is not None}))
    return mix_of(counted, models) if counted else None


def mix_of(wanted: Sequence[Wanted], models: tuple[str, ...]) -> Mix:
    """Shapes by the instances that are wanted of them and their growth; models: those that nodes name."""
    weights: dict[tuple[int, ...], float] = {}
    for one in wanted:
        shape = (one.requests.get("cpu", 0), -(-one.requests.get("memory", 0) // MIB), *gpus_of(one.gpu))
        key = (*shape, model_bits(one.gpu, models))
        weights[key] = weights.get(key, 0.0) + one.wanted + one.growth
    table = np.array(sorted(weights), dtype=np.int64)
    share = np.array([weights[tuple(row)] for row in table.tolist()])
    allowed: BoolArray = (table[:, 4:] >> np.arange(len(models) + 1)) & 1 == 1
    return Mix(table[:, :4], share / share.sum(), allowed, models)


def room_of(nodes: Sequence[Nodes], mix: Mix) -> Room:
    """What is free on nodes that take work. Twenty thousand rows of summaries are some hundred states of nodes."""
    rows, open_ = _grouped(*_joined(nodes, mix))
    room = np.array([open_ @ rows.fits(shape) for shape in mix.table], dtype=np.float64)
    return Room(room, float(open_.sum()), float(open_ @ rows.cpu), float(open_ @ rows.gpu.sum(axis=1)))


def to_come(wanted: Sequence[Wanted], mix: Mix, free: Room, load: float) -> float:
    """Instances still to come: (load (free + taken) - asked) / d, at least free / d and all growth.

    d: what an instance of the mix takes on average; taken, asked: by those that are there, and by all that are wanted.
    """
    gpus = bool(mix.demand.any())
    each = np.array([_demand(one, gpus) for one in wanted], dtype=np.float64)
    taken = float(each @ np.array([one.there for one in wanted]))
    asked = float(each @ np.array([one.wanted for one in wanted]))
    left = free.gpu if gpus else free.cpu
    mean = max(float(mix.probability @ mix.gain), 1.0)
    growth = sum(max(one.growth, 0.0) for one in wanted)
    return max((load * (left + taken) - asked) / mean, left / mean, growth)


def offers_to_come(mix: Mix, arrivals: FloatArray, free: Room, decline: FloatArray | None) -> Offers:
    """What a node is offered of the arrivals in each stretch, (b,), while room declines, (s, b), or stays as it is.

    Where it is foreseen, every forecast has sequences of its own: what one of them lacks by chance, the next has.
    """
    room = free.room, free.nodes
    if decline is None:
        return offers_of(mix, arrivals, room, seed=OFFERS_SEED)
    seed = OFFERS_SEED, round(float(arrivals.sum()))
    return offers_of(mix, arrivals, room, seed=seed, decline=decline, sequences=FORESEEN_SEQUENCES)


def distance(one: Mix, other: Mix) -> float:
    """Half of the summed differences between the shares of shapes, 0 (the same) to 1 (nothing in common)."""
    shares: dict[tuple[int, ...], float] = {}
    for mix, sign in ((one, 1.0), (other, -1.0)):
        for row, share in zip(mix.table[:, :GAIN].tolist(), mix.probability.tolist(), strict=True):
            shares[tuple(row)] = shares.get(tuple(row), 0.0) + sign * share
    return sum(map(abs, shares.values())) / 2 if one.models == other.models else 1.0


def _counted(wanted: Iterable[Wanted]) -> list[Wanted]:
    return [one for one in wanted if one.wanted + one.growth > 0]


def _demand(one: Wanted, gpus: bool) -> int:
    count, milli = gpus_of(one.gpu)
    return count * milli if gpus else one.requests.get("cpu", 0)


def _evenly(arrivals: float) -> FloatArray:
    return np.full(STRETCHES, arrivals / STRETCHES)


def _joined(nodes: Sequence[Nodes], mix: Mix) -> tuple[Rows, FloatArray]:
    """All rows, and how many nodes that take work each of them is, (g,)."""
    wide = max((each.gpu_free.shape[1] for each in nodes), default=0)
    none = np.zeros(0, dtype=np.int64)
    rows = Rows.joined(
        [Rows(none, none, none, np.zeros((0, wide), dtype=np.int64))]
        + [_widened(rows_of(each, mix.models), wide) for each in nodes]
    )
    open_ = np.concatenate([none, *(each.count * each.schedulable for each in nodes)])
    return rows, open_.astype(np.float64)


def _grouped(rows: Rows, open_: FloatArray) -> tuple[Rows, FloatArray]:
    """Each row once, with all nodes that are like it; whole numbers, so the sums are the same."""
    numbers = rows.numbers()
    _, first = np.unique(numbers, return_index=True)
    nodes: FloatArray = np.bincount(numbers, weights=open_, minlength=len(first)).astype(np.float64)
    return rows.take(first), nodes


def _widened(rows: Rows, gpus: int) -> Rows:
    more = gpus - rows.gpu.shape[1]
    if not more:
        return rows
    return Rows(rows.cpu, rows.memory, rows.model, np.pad(rows.gpu, ((0, 0), (0, more))))
