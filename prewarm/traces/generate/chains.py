"""Chains: functions that run because others did, through a service graph that is exported with the trace.

Each callee takes its demand from one or two callers, drawn so that the calls per invocation make the callee's own daily
total; the graph has no circle and a depth of a few calls. Delays follow the kind of call: an orchestration calls within
seconds, a queue is emptied after seconds to minutes. All constants here are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from prewarm.domain import FloatArray, IntArray

MOST_CALLS = 3.0
FEWEST_CALLS = 0.05
SECOND_CALLER = 0.25
DEPTH = 3
CANDIDATES = 8
DELAY_S = {"orchestration": (0.2, 5.0), "queue": (1.0, 240.0)}  # log-uniform
DEFAULT_DELAY_S = (0.2, 30.0)


@dataclass(frozen=True, slots=True)
class Edge:
    """Indices of caller and callee, mean calls per invocation, and the delay of every call."""

    caller: int
    callee: int
    calls: float
    delay_s: float


def draw_edges(
    rng: Generator,
    daily_total: FloatArray,
    *,
    callees: Sequence[int],
    callers: Sequence[int],
    trigger_of: Callable[[int], str],
) -> list[Edge]:
    """Edges into each callee, from `callers` or earlier callees, so that every caller comes before what it calls.

    No edge where there is no caller.
    """
    depth = np.zeros(len(daily_total), dtype=np.int64)
    ready = list(callers)
    edges: list[Edge] = []
    if not ready:
        return edges
    for callee in callees:
        chosen = _pick_callers(rng, daily_total, ready, callee)
        low, high = np.log(DELAY_S.get(trigger_of(callee), DEFAULT_DELAY_S))
        for caller in chosen:
            ratio = daily_total[callee] / len(chosen) / daily_total[caller]
            calls = round(float(np.clip(ratio, FEWEST_CALLS, MOST_CALLS)), 3)
            edges.append(Edge(caller, callee, calls, round(float(np.exp(rng.uniform(low, high))), 1)))
        depth[callee] = 1 + max(depth[caller] for caller in chosen)
        if depth[callee] < DEPTH:
            ready.append(callee)
    return edges


def _pick_callers(rng: Generator, daily_total: FloatArray, ready: Sequence[int], callee: int) -> list[int]:
    """One or two of the functions whose demand lies nearest to the callee's from where it can be made."""
    ratio = daily_total[callee] / daily_total[np.array(ready)]
    distance = np.where(ratio > MOST_CALLS, ratio, np.where(ratio < FEWEST_CALLS, 1 / ratio, 0.0))
    nearest = np.lexsort((rng.random(len(ready)), distance))[:CANDIDATES]
    count = 2 if rng.random() < SECOND_CALLER and len(nearest) > 1 else 1
    return [ready[at] for at in rng.choice(nearest, count, replace=False)]


def called_by(rng: Generator, caller: IntArray, edge: Edge) -> IntArray:
    """The callee's counts (minutes,) that one edge causes; what falls after the end of the trace is lost."""
    made = rng.binomial(caller, edge.calls) if edge.calls <= 1 else rng.poisson(caller * edge.calls)
    whole, part_s = divmod(edge.delay_s, 60)
    later = rng.binomial(made, part_s / 60)  # callers are spread evenly over their minute
    counts = np.zeros_like(caller)
    for shift, some in ((int(whole), made - later), (int(whole) + 1, later)):
        if shift < len(counts):
            counts[shift:] += some[: len(counts) - shift]
    return counts
