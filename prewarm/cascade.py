"""The service graph: what is called because something else was called.

A callee that runs only when its caller does has no rhythm of its own; its next call is announced by the caller's. For
each edge the chance q that an active step of the caller is followed by one of the callee, one lag later, is learned
from the counts (a prior from the declared calls per invocation, then a decayed frequency). The callee's own forecast
keeps only the share of its calls that no caller explains, and all causes are joined by noisy-or (Pearl, 1988, §4.3.2):

    P(callee at t) = 1 - (1 - p_own (1 - explained)) * prod over edges and lags of (1 - x q)

where x is 1 or 0 for a caller's step already seen (lag of a step or more) and its own probability for the same step.
A busy caller explains everything and tells nothing, so this opinion stands beside two others, the callee's own rhythm
and its callers alone, and each callee's past says which of the three to believe (the weights are the foresight's).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, Float32Array, FloatArray, FunctionKey, Int32Array, Reason
from prewarm.policy.pool import Levels
from prewarm.settings import Call

PRIOR_STEPS = 8.0  # weight of the declared graph, in active steps of the caller
CAUSES = ("its callers and its own rhythm", "its own rhythm", "its callers alone")
EXPLAINED_PRIOR_STEPS = 8.0  # a callee's own rhythm is believed until this many of its steps were explained


@dataclass(frozen=True, slots=True)
class ServiceGraph:
    """Edges by (function index, lag in steps); each declared call makes two, since its delay ends between two steps.

    All (e,): caller, callee, lag, and prior, the chance that the callee runs `lag` steps after an active step.
    `order` lists groups of edges such that a caller's probability is final before it is used.
    """

    size: int
    caller: Int32Array
    callee: Int32Array
    lag: Int32Array
    prior: FloatArray
    order: tuple[Int32Array, ...]

    @property
    def longest_lag(self) -> int:
        """Steps that must be remembered."""
        return int(self.lag.max(initial=0))


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """Decayed counts of steps, (e,): caller active, both active; (n,): callee active, active and explained."""

    caller_steps: FloatArray
    joint_steps: FloatArray
    callee_steps: FloatArray
    explained_steps: FloatArray
    steps: float = 0.0
    """All steps, decayed alike."""


@dataclass(frozen=True, slots=True)
class CascadedLevels:
    """Levels after the graph spoke, and by which edge each function was raised most (-1: by none), with its chance.

    opinions: (n, 3) what each of `CAUSES` said of the first level, NaN for functions that nobody calls.
    """

    row: Int32Array
    level: Int32Array
    p: Float32Array
    cause: Int32Array
    chance: FloatArray
    opinions: FloatArray


def service_graph(calls: Sequence[Call], rows: Mapping[FunctionKey, int], step_s: float) -> ServiceGraph:
    """The graph over the functions that are known; calls between others wait until those are seen."""
    edges: list[tuple[int, int, int, float]] = []
    for call in calls:
        caller, callee = rows.get(FunctionKey(call.caller)), rows.get(FunctionKey(call.callee))
        if caller is None or callee is None or caller == callee or call.calls_per_invocation == 0:
            continue
        chance = -np.expm1(-call.calls_per_invocation)
        whole, part = divmod(call.delay_s / step_s, 1.0)
        edges += [(caller, callee, int(whole), chance * (1 - part)), (caller, callee, int(whole) + 1, chance * part)]
    caller_, callee_, lag, prior = (
        (np.array(column) for column in zip(*edges, strict=True)) if edges else [np.zeros(0)] * 4
    )
    columns = caller_.astype(np.int32), callee_.astype(np.int32), lag.astype(np.int32)
    return ServiceGraph(len(rows), *columns, prior.astype(np.float64), _order(*columns, size=len(rows)))


def no_counts(graph: ServiceGraph) -> EdgeCounts:
    """Nothing learned yet."""
    edges, size = len(graph.caller), graph.size
    return EdgeCounts(np.zeros(edges), np.zeros(edges), np.zeros(size), np.zeros(size))


def learn(counts: EdgeCounts, graph: ServiceGraph, active: BoolArray, *, keep: float = 0.9995) -> EdgeCounts:
    """Counts after one more step. `active`: (longest_lag + 1, n), row 0 the newest step, row j that of j steps before.

    `keep` is the weight of yesterday's evidence for each step: 0.9995 forgets half in a day of minutes.
    """
    called = active[graph.lag, graph.caller]
    both = called & active[0, graph.callee]
    explained = np.zeros(graph.size, dtype=np.bool_)
    explained[graph.callee[both]] = True
    return EdgeCounts(
        counts.caller_steps * keep + called,
        counts.joint_steps * keep + both,
        counts.callee_steps * keep + active[0],
        counts.explained_steps * keep + explained,
        counts.steps * keep + 1.0,
    )


def cascade(
    levels: Levels, graph: ServiceGraph, counts: EdgeCounts, active: BoolArray, *, trust: FloatArray
) -> CascadedLevels:
    """Levels for the coming step with what the callers announce. `active` as in `learn`, row 0 the last step seen.

    trust: (n, 3) weights of `CAUSES`, each row summing to 1. Only the first level is moved: a call upstream says that
    the callee runs, not how many calls meet there. Higher levels never exceed the first. A callee without a row of its
    own gets one.
    """
    follow = (counts.joint_steps + PRIOR_STEPS * graph.prior) / (counts.caller_steps + PRIOR_STEPS)
    called = _has_caller(graph)
    quiet = _quiet_without_callers(levels, graph.size, counts, called)
    chance = 1 - quiet[:, 1]
    cause, strongest = np.full(graph.size, -1, dtype=np.int32), np.zeros(graph.size)
    for edges in graph.order:
        caller, callee, lag = graph.caller[edges], graph.callee[edges], graph.lag[edges]
        seen = active[np.maximum(lag - 1, 0), caller]
        told = np.where(lag > 0, seen, chance[caller]) * follow[edges]
        for opinion in (0, 2):
            np.multiply.at(quiet[:, opinion], callee, 1 - np.minimum(told, 1 - 1e-9))
        chance[callee] = (trust[callee] * (1 - quiet[callee])).sum(axis=1)
        # Of several edges on one callee the last one assigned stays, so they are taken by rising strength.
        stronger = np.flatnonzero(told >= strongest[callee])
        stronger = stronger[np.argsort(told[stronger], kind="stable")]
        cause[callee[stronger]], strongest[callee[stronger]] = edges[stronger], told[stronger]
    opinions = np.where(called[:, None], 1 - quiet, np.nan)
    return _with_first_level(levels, chance, touched=called, told=(cause, strongest, opinions))


def _quiet_without_callers(levels: Levels, size: int, counts: EdgeCounts, called: BoolArray) -> FloatArray:
    """Chance of no call before any caller has spoken, by each of `CAUSES`, (n, 3)."""
    own = _first_level(levels, size)
    explained = counts.explained_steps / (counts.callee_steps + EXPLAINED_PRIOR_STEPS)
    unexplained = np.maximum(counts.callee_steps - counts.explained_steps, 0.0)
    leak = (unexplained + 0.1) / (counts.steps + 10.0)
    return 1 - np.column_stack([own * np.where(called, 1 - explained, 1.0), own, leak])


def cascade_reason(
    cascaded: CascadedLevels, graph: ServiceGraph, keys: Sequence[FunctionKey], row: int
) -> Reason | None:
    """The sentence for one function, where a caller announced it."""
    edge = int(cascaded.cause[row])
    if edge < 0 or cascaded.chance[row] < 0.01:
        return None
    lag = int(graph.lag[edge])
    when = "in this step" if lag == 0 else f"{lag} step{'s' if lag > 1 else ''} before"
    text = f"called by {keys[graph.caller[edge]]} {when}: follows with {cascaded.chance[row]:.0%}"
    return Reason("cascade", text, value=round(float(cascaded.chance[row]), 6))


def _has_caller(graph: ServiceGraph) -> BoolArray:
    called = np.zeros(graph.size, dtype=np.bool_)
    called[graph.callee] = True
    return called


def _first_level(levels: Levels, size: int) -> FloatArray:
    own = np.zeros(size)
    first = np.asarray(levels.level) == 1
    own[np.asarray(levels.row)[first]] = np.asarray(levels.p)[first]
    return own


def _with_first_level(
    levels: Levels, chance: FloatArray, *, touched: BoolArray, told: tuple[Int32Array, FloatArray, FloatArray]
) -> CascadedLevels:
    row, level, p = np.asarray(levels.row), np.asarray(levels.level), np.asarray(levels.p, dtype=np.float64)
    moved = touched[row]
    p = np.where(moved & (level == 1), chance[row], np.where(moved, np.minimum(p, chance[row]), p))
    missing = np.setdiff1d(np.flatnonzero(touched), row[level == 1])
    row = np.r_[row, missing].astype(np.int32)
    level = np.r_[level, np.ones(len(missing))].astype(np.int32)
    p = np.r_[p, chance[missing]]
    order = np.lexsort((level, row))
    return CascadedLevels(row[order], level[order], p[order].astype(np.float32), *told)


def _order(caller: Int32Array, callee: Int32Array, lag: Int32Array, *, size: int) -> tuple[Int32Array, ...]:
    """Edges that tell of the past first, then by the depth of their caller; in a cycle the rest goes last, once."""
    depth = np.zeros(size, dtype=np.int64)
    same_step = lag == 0
    for _ in range(min(size, 32)):
        deeper = depth.copy()
        np.maximum.at(deeper, callee[same_step], depth[caller[same_step]] + 1)
        if (deeper == depth).all():
            break
        depth = np.minimum(deeper, 32)
    level = np.where(same_step, depth[caller], -1)
    return tuple(np.flatnonzero(level == one).astype(np.int32) for one in np.unique(level))
