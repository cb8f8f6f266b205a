"""What is expected of the coming step: all opinions, weighed, with what callers and people announce.

The pieces are pure folds over the counts: `remember` takes in the step that has just ended, `foresee` speaks of the
next one. The service and the simulator call the same two functions; what they carry between steps is the frozen
`Memory`, which can be stored, and which may start empty: the learned model needs none, it reads the history.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prewarm.cascade import (
    CAUSES,
    CascadedLevels,
    EdgeCounts,
    ServiceGraph,
    cascade,
    cascade_reason,
    learn,
    no_counts,
    service_graph,
)
from prewarm.domain import BoolArray, Float32Array, FloatArray, FunctionKey, Int32Array, IntArray, Reason
from prewarm.forecast.experts.mixture import Mixture, first_weights, learned, learned_pairs, mixed
from prewarm.forecast.experts.opinions import Opinions
from prewarm.forecast.levels.history_view import never_rising
from prewarm.forecast.levels.online import Recalibration, corrected
from prewarm.forecast.levels.online import learned as recalibrated
from prewarm.policy.pool import span_of
from prewarm.settings import Call


@dataclass(frozen=True, slots=True)
class Announcement:
    """An event that people announced: these functions (rows) will need about `need` instances, as surely as `sure`.

    spread: how far off such numbers are, as the standard deviation of their logarithm; 0 takes the number at its word.
    """

    name: str
    rows: Int32Array
    need: int
    sure: float
    spread: float = 0.0

    def chances(self) -> Float32Array:
        """P(N >= k) for k = 1, 2, ... up to where a log-normal around `need` leaves 2 %, (K,)."""
        if self.spread == 0:
            return np.full(self.need, self.sure, np.float32)
        most = max(1, math.ceil(self.need * math.exp(2.05 * self.spread)))
        scores = [math.log((k - 0.5) / self.need) / self.spread for k in range(1, most + 1)]
        return np.array([self.sure * 0.5 * math.erfc(score / math.sqrt(2)) for score in scores], np.float32)


LEVELS = 4  # a function's lowest levels are recalibrated each by its own errors; higher ones are too rare to learn from


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of the step now running, (m,) and (m, E): the learned model's own chance of each (row, level), and
    every expert's, the learned model's corrected."""

    row: Int32Array
    level: Int32Array
    p: Float32Array
    chance: FloatArray


@dataclass(frozen=True, slots=True)
class Memory:
    """What is carried from step to step; rows are functions in the order in which they appeared.

    errors: (n * LEVELS) rows, what each function and level taught about the learned model. active: (lags + 1, n), row 0
    the step that ended last. first: the opinions on the first level given for the step now running, (n, E), or NaN.
    """

    mixture: Mixture
    upper: Mixture
    """Weights for levels above the first, where a promotion shows and a call does not."""
    errors: Recalibration
    graph: ServiceGraph
    edges: EdgeCounts
    active: BoolArray
    first: FloatArray
    said: Said
    causes: Mixture
    """Weights of `cascade.CAUSES`, one set a function."""
    caused: FloatArray
    """What each of them said of the step now running, (n, 3), NaN where nobody calls the function."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The coming step's levels, and what is needed to say why."""

    row: Int32Array
    level: Int32Array
    p: Float32Array
    opinions: Opinions
    mixture: Mixture
    cascaded: CascadedLevels
    graph: ServiceGraph
    announced: tuple[Announcement, ...]

    def reasons(self, row: int, keys: Sequence[FunctionKey]) -> tuple[Reason, ...]:
        """The opinions that carried most weight, the caller that announced it, the event that people announced."""
        found = [*_opinion_reasons(self, row)]
        caused = cascade_reason(self.cascaded, self.graph, keys, row)
        if caused is not None:
            found.append(caused)
        for event in self.announced:
            if (event.rows == row).any():
                text = f"announced: {event.name}, {event.need} instances"
                found.append(Reason("announced", text, value=float(event.need)))
        return tuple(found)


def _nothing(experts: int) -> Said:
    none = np.zeros(0, np.int32)
    return Said(none, none, np.zeros(0, np.float32), np.zeros((0, experts)))


def empty_memory(experts: int) -> Memory:
    """Nothing seen, no functions, no graph."""
    graph = service_graph((), {}, 60.0)
    return Memory(
        mixture=first_weights(0, experts),
        upper=first_weights(0, experts),
        errors=Recalibration.fresh(0),
        graph=graph,
        edges=no_counts(graph),
        active=np.zeros((1, 0), np.bool_),
        first=np.zeros((0, experts)),
        said=_nothing(experts),
        causes=first_weights(0, len(CAUSES)),
        caused=np.zeros((0, len(CAUSES))),
    )


def with_functions(memory: Memory, calls: Sequence[Call], rows: Mapping[FunctionKey, int], *, step_s: float) -> Memory:
    """The memory for a fleet that has grown or a graph that has changed; what was learned of an edge stays with it."""
    graph = service_graph(calls, rows, step_s)
    size = len(rows)
    active = np.zeros((graph.longest_lag + 1, size), np.bool_)
    depth, width = min(len(active), len(memory.active)), memory.active.shape[1]
    active[:depth, :width] = memory.active[:depth]
    first, caused = _widened(memory.first, size), _widened(memory.caused, size)
    return replace(
        memory,
        mixture=memory.mixture.grown(size),
        upper=memory.upper.grown(size),
        errors=memory.errors.grown(size * LEVELS),
        graph=graph,
        edges=_carried(memory, graph),
        active=active,
        first=first,
        causes=memory.causes.grown(size),
        caused=caused,
    )


def _widened(said: FloatArray, size: int) -> FloatArray:
    """Rows for new functions, of which nothing was said."""
    wide = np.full((size, said.shape[1]), np.nan)
    wide[: len(said)] = said
    return wide


def remember(memory: Memory, need: Int32Array, known: BoolArray) -> Memory:
    """The memory after a step: need (n,) instances needed in it, known (n,) False where its demand is unknown."""
    happened = (need >= 1) & known
    active = np.concatenate([happened[None, :], memory.active[:-1]])
    said = memory.said
    reached = need[said.row] >= said.level
    told, above = known[said.row] & (said.level <= LEVELS), said.level > 1
    row, level, p = said.row[told], said.level[told], said.p[told]
    return replace(
        memory,
        mixture=learned(memory.mixture, memory.first, happened, known & ~np.isnan(memory.first).all(axis=1)),
        upper=learned_pairs(memory.upper, said.row[above], said.chance[above], reached[above], known),
        errors=recalibrated(memory.errors, _place(row, level), p, reached[told]),
        active=active,
        edges=learn(memory.edges, memory.graph, active),
        first=np.full_like(memory.first, np.nan),
        said=_nothing(memory.first.shape[1]),
        causes=learned(memory.causes, memory.caused, happened, known & ~np.isnan(memory.caused[:, 0])),
        caused=np.full_like(memory.caused, np.nan),
    )


def foresee(
    memory: Memory, opinions: Opinions, announced: Sequence[Announcement] = (), *, by_rule: bool = False
) -> tuple[Foreseen, Memory]:
    """The levels of the coming step, and the memory of what was said about it.

    With `by_rule` the first opinion is the plain rule's, from which nothing is learned about the model.
    """
    chance = opinions.chance.astype(np.float64)
    low = opinions.level <= LEVELS
    if not by_rule:
        place = _place(opinions.row[low], opinions.level[low])
        chance[low, 0] = corrected(memory.errors, place, opinions.chance[low, 0])
    first, upper = memory.mixture.weight[opinions.row], memory.upper.weight[opinions.row]
    weights = np.where(opinions.level[:, None] > 1, upper, first)
    p = never_rising(opinions.level, mixed(weights, chance).astype(np.float32))
    nobody = np.full(memory.graph.size, -1, np.int32), np.zeros(0), np.full_like(memory.caused, np.nan)
    cascaded = CascadedLevels(opinions.row, opinions.level, p, *nobody)
    if len(memory.graph.caller):
        trust = memory.causes.weight
        cascaded = cascade(cascaded, memory.graph, memory.edges, memory.active, trust=trust)
    row, level, p = cascaded.row, cascaded.level, cascaded.p
    for event in announced:
        row, level, p = _raised(row, level, p, event=event)
    told = Foreseen(row, level, p, opinions, memory.mixture, cascaded, memory.graph, tuple(announced))
    if by_rule:
        return told, memory
    lowest = opinions.level == 1
    spoken = np.full_like(memory.first, np.nan)
    spoken[opinions.row[lowest]] = chance[lowest]
    said = Said(opinions.row, opinions.level, opinions.chance[:, 0], chance)
    return told, replace(memory, first=spoken, said=said, caused=cascaded.opinions)


def _place(row: Int32Array, level: Int32Array) -> IntArray:
    """The row of `Memory.errors` for a function and level."""
    return row.astype(np.int64) * LEVELS + level - 1


def _opinion_reasons(told: Foreseen, row: int) -> Sequence[Reason]:
    first, last = span_of(told.opinions.row, row)
    if first == last:
        return ()
    chance, weight = told.opinions.chance[first], told.mixture.weight[row]
    spoken = [index for index in np.argsort(-weight, kind="stable") if np.isfinite(chance[index])][:2]
    return [
        Reason(
            f"opinion_{rank + 1}",
            f"{told.opinions.experts[index]}: {chance[index]:.1%}, weight {weight[index]:.0%}",
            value=round(float(chance[index]), 6),
            against=round(float(weight[index]), 6),
        )
        for rank, index in enumerate(spoken)
        if weight[index] >= 0.01
    ]


def _raised(
    row: Int32Array, level: Int32Array, p: Float32Array, *, event: Announcement
) -> tuple[Int32Array, Int32Array, Float32Array]:
    """Levels with those of the event at least as likely as it is sure; rows that are missing are added."""
    chances = event.chances()
    told_row = np.repeat(event.rows, len(chances)).astype(np.int32)
    told_level = np.tile(np.arange(1, len(chances) + 1, dtype=np.int32), len(event.rows))
    all_row, all_level = np.r_[row, told_row], np.r_[level, told_level]
    all_p = np.r_[p, np.tile(chances, len(event.rows))]
    # Sorted by falling chance inside each pair, the first of a pair is its largest.
    order = np.lexsort((-all_p, all_level, all_row))
    all_row, all_level, all_p = all_row[order], all_level[order], all_p[order]
    first = np.r_[True, (all_row[1:] != all_row[:-1]) | (all_level[1:] != all_level[:-1])][: len(all_row)]
    return all_row[first], all_level[first], all_p[first]


def _carried(memory: Memory, graph: ServiceGraph) -> EdgeCounts:
    fresh = no_counts(graph)
    old, size = memory.edges, memory.graph.size
    place = {
        edge: index
        for index, edge in enumerate(
            zip(memory.graph.caller.tolist(), memory.graph.callee.tolist(), memory.graph.lag.tolist(), strict=True)
        )
    }
    for index, edge in enumerate(zip(graph.caller.tolist(), graph.callee.tolist(), graph.lag.tolist(), strict=True)):
        if edge in place:
            fresh.caller_steps[index] = old.caller_steps[place[edge]]
            fresh.joint_steps[index] = old.joint_steps[place[edge]]
    fresh.callee_steps[:size] = old.callee_steps
    fresh.explained_steps[:size] = old.explained_steps
    return fresh
