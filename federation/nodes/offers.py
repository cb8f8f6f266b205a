"""Which work a node will be offered: random sequences drawn from the forecast, the same for every node.

A pod of shape m goes to one of the nodes that have room for m, so a node with room is offered a share 1 / M(m) of them,
where M(m) is the number of such nodes. M is known now and falls as the fleet fills; where a simulation of the forecast
has shown how it falls, offers of later stretches of time follow that decline. So scarce room is worth more than its
share of the mix, and room that everybody has is worth less. Sequences are fixed by a seed: differences between nodes
are then differences of the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from federation.nodes.mix import COUNT, CPU, GAIN, MILLI, Mix
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, IntArray

SEQUENCES = 32
FORESEEN_SEQUENCES = 128
"""As many where room is foreseen: offers are then good enough for what few sequences happen to leave out to matter."""
STRETCHES = 26
"""Stretches of time that the rest of the forecast is cut into."""
LEAST_ROOM = 1 / 75
"""Share of all nodes that is taken to have room at the least: no forecast is so sharp that one node gets all."""
MOST_OFFERS = 16.0
"""Offers of one shape that are followed; no node takes more of the shapes that matter."""
CUTS = np.array([0, 60, 120, 200, 330, 540, 800, 999, 1000])
"""Sequences are kept once for each of these free shares: a node whose emptiest GPU has less skips what is larger."""
SHARE_COUNTS, WASTEFUL_COUNTS = 0.9, 0.75
"""What an offered share of a GPU counts of what it takes, and one of those that leave most behind; see `counted`."""
Seed = int | tuple[int, int]
"""Of numpy's generator."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """A price, in thousandths of a GPU, on each GPU that has `share` thousandths free or more.

    Who takes such a GPU may leave a hole that nobody fills. All nodes with room are offered the same share of those
    pods, so a node's own worth does not show that fewer of them find room at all when GPUs are broken early.
    """

    share: int
    price: float


NO_KEEPING = Keeping(GPU_WHOLE + 1, 0.0)


@dataclass(frozen=True, slots=True)
class Offers:
    """table: (n, 6) shapes as in `Mix.table`, one offer a row. spans: (cuts, K, 2) where each sequence lies in it.

    The last column is what taking the offer counts, see `counted`.
    keeping: what it costs a node to keep a GPU open for shares that leave a hole, see `Keeping`.
    """

    table: IntArray
    spans: IntArray
    keeping: Keeping = NO_KEEPING

    @property
    def for_gpus(self) -> bool:
        """Whether what counts is GPUs taken; else it is cores."""
        return bool((self.table[:, COUNT] > 0).any())

    @property
    def least_cpu(self) -> int:
        """Thousandths of cores that an offer of worth takes at the least."""
        worth = self.table[self.table[:, GAIN] > 0, CPU]
        return int(worth.min()) if len(worth) else 0


def offers_of(
    mix: Mix,
    arrivals: FloatArray,
    free: tuple[FloatArray, float],
    *,
    seed: Seed,
    decline: FloatArray | None = None,
    sequences: int = SEQUENCES,
) -> Offers:
    """Sequences of what a node is offered of the arrivals in each stretch, (b,); free: room, (s,), and nodes."""
    rates = expected_offers(mix, arrivals, *free, decline)
    kept, drawn = keeping(mix), draw_offers(mix, rates, seed, sequences)
    return replace(drawn, table=counted(drawn.table, kept), keeping=kept)


def counted(offers: IntArray, kept: Keeping) -> IntArray:
    """Offers, (n, 6), with what taking each counts: whole GPUs and cores in full, a share less than it takes.

    A share that finds no room on this node finds it on another for longer than whole GPUs do, and the GPU that it is on
    is rarely filled to the end; a node's own worth shows neither. Least count the shares that leave most behind.
    """
    milli = offers[:, MILLI]
    share = (offers[:, COUNT] > 0) & (milli < GPU_WHOLE)
    part = np.where(share, np.where(milli == kept.share, WASTEFUL_COUNTS, SHARE_COUNTS), 1.0)
    return np.column_stack([offers[:, :GAIN], np.rint(offers[:, GAIN] * part).astype(np.int64)])


def expected_offers(
    mix: Mix, arrivals: FloatArray, room: FloatArray, nodes: float, decline: FloatArray | None = None
) -> FloatArray:
    """Offers of each shape to a node that has room for it, in each stretch of time to come, (s, b).

    arrivals: (b,) of a fleet of `nodes`. room: (s,) nodes that have room for a shape now. decline: (s, b) room then
    as a share of room now, None where it is not foreseen.
    """
    later = np.ones((len(room), len(arrivals))) if decline is None else decline
    able = np.maximum(np.maximum(room, 1.0)[:, None] * later, max(1.0, LEAST_ROOM * nodes))
    rates = mix.probability[:, None] * arrivals[None, :] / able
    before = np.cumsum(rates, axis=1) - rates
    capped: FloatArray = np.clip(MOST_OFFERS - before, 0.0, rates)
    return capped


def keeping(mix: Mix) -> Keeping:
    """For the shares of more than half a GPU that leave most, by number and size: what the next pod that asks for GPUs
    leaves by being one of them.
    """
    milli, asks = mix.shapes[:, MILLI], mix.shapes[:, COUNT] > 0
    shares = asks & (2 * milli > GPU_WHOLE) & (milli < GPU_WHOLE)
    if not mix.probability[shares].sum():
        return NO_KEEPING
    left = np.bincount(milli[shares], weights=(mix.probability * (GPU_WHOLE - milli))[shares])
    return Keeping(int(left.argmax()), float(left.max() / mix.probability[asks].sum()))


def draw_offers(mix: Mix, rates: FloatArray, seed: Seed, sequences: int = SEQUENCES) -> Offers:
    """Sequences with Poisson numbers of each shape, stretch after stretch, in random order within a stretch."""
    rng = np.random.default_rng(seed)
    stretches = rates.shape[1]
    counts = rng.poisson(rates.T[None, :, :], size=(sequences, stretches, len(rates)))
    shape = np.repeat(np.tile(np.arange(len(rates)), sequences * stretches), counts.ravel())
    block = np.repeat(np.arange(sequences * stretches), counts.sum(axis=2).ravel())
    shape = shape[np.lexsort((rng.random(len(shape)), block))]
    ends = np.concatenate([[0], np.cumsum(counts.sum(axis=(1, 2)))])
    size = np.where(mix.shapes[:, COUNT] > 0, mix.shapes[:, MILLI], 0)[shape]
    spans = np.zeros((len(CUTS), sequences, 2), dtype=np.int64)
    kept, start = [], 0
    for at, cut in enumerate(CUTS):
        below = np.concatenate([[0], np.cumsum(size <= cut)])
        spans[at] = start + np.column_stack([below[ends[:-1]], below[ends[1:]]])
        start += below[-1]
        kept.append(shape[size <= cut])
    return Offers(mix.table[np.concatenate(kept)], spans)
