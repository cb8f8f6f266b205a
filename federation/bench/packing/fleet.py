"""One run of arrivals through a rule: score the nodes, take the best, never turn away what fits.

Scores are kept for each shape and brought up to date when the shape comes again, for the nodes that have changed since.
Ties go to the first node of the seed's random order, as in the simulator that is reproduced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from federation.bench.packing.trace import Arrivals, Trace
from federation.nodes.kernels import use
from federation.nodes.mix import COUNT, CPU, MEMORY, MILLI
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray, IntArray


class Rule(Protocol):
    """A rule of placement: judges nodes for a shape."""

    def begin(self, fleet: Fleet, came: int) -> bool:
        """Told before each arrival; True where all earlier scores are void."""
        ...

    def judge(self, fleet: Fleet, shape: int, nodes: IntArray) -> None:
        """Write scores (-inf: no room) and the GPU of a share for some nodes."""
        ...

    def choose(self, fleet: Fleet, shape: int) -> int:
        """The node that takes one of a shape, -1 for none."""
        ...


@dataclass(slots=True)
class Fleet:
    """The state of a run. score, device: (s, n) by shape and node."""

    trace: Trace
    nodes: IntArray
    gpus: IntArray
    table: IntArray
    score: FloatArray
    device: IntArray

    @classmethod
    def start(cls, trace: Trace, order: IntArray) -> Fleet:
        """Empty nodes in a seed's order."""
        shape = (len(trace.mix.shapes), len(order))
        score, device = np.full(shape, -np.inf), np.full(shape, -1, dtype=np.int64)
        return cls(trace, trace.nodes[order], trace.gpus[order], trace.mix.table, score, device)

    def place(self, shape: int, node: int) -> None:
        """Take the room of one of a shape."""
        row = self.table[shape]
        self.nodes[node, CPU] -= row[CPU]
        self.nodes[node, MEMORY] -= row[MEMORY]
        use(self.gpus[node], row, int(self.device[shape, node]))


@dataclass(frozen=True, slots=True)
class Course:
    """A run: per arrival, GPUs asked for so far and allocated, as shares of those there; node or -1."""

    came: FloatArray
    allocated: FloatArray
    node: IntArray
    fleet: Fleet

    def at(self, percent: int) -> float:
        """Allocation % when about `percent` % have arrived: the mean over that rounded percentage, as published."""
        return float(100 * self.allocated[np.round(100 * self.came) == percent].mean())


def run_course(trace: Trace, arrivals: Arrivals, rule: Rule) -> Course:
    """All arrivals of a seed, one after the other."""
    fleet = Fleet.start(trace, arrivals.order)
    changed, seen = np.zeros(len(arrivals.shape), dtype=np.int64), np.full(len(trace.mix.shapes), -1)
    everyone, placed = np.arange(len(arrivals.order)), 0
    node_of = np.full(len(arrivals.shape), -1, dtype=np.int64)
    for at, shape in enumerate(arrivals.shape.tolist()):
        if rule.begin(fleet, at):
            seen[:] = -1
        stale = changed[seen[shape] : placed] if seen[shape] >= 0 else everyone
        if len(stale):
            rule.judge(fleet, shape, np.unique(stale))
        seen[shape] = placed
        node = rule.choose(fleet, shape)
        if node >= 0:
            fleet.place(shape, node)
            node_of[at] = changed[placed] = node
            placed += 1
    demand = trace.mix.demand[arrivals.shape]
    came, taken = np.cumsum(demand), np.cumsum(np.where(node_of >= 0, demand, 0))
    return Course(came / trace.capacity, taken / trace.capacity, node_of, fleet)


def best_node(fleet: Fleet, shape: int) -> int:
    """The first node of the highest score, -1 where none has room."""
    node = int(fleet.score[shape].argmax())
    return node if np.isfinite(fleet.score[shape, node]) else -1


def whole(shape: IntArray) -> bool:
    """Whether it takes no share of a GPU."""
    return bool(shape[COUNT] == 0 or shape[MILLI] >= GPU_WHOLE)
