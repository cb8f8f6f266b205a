"""A run from start to end under fixed weights, or under a policy that is asked pod by pod, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gnn.published.kernel.advance import advance
from gnn.published.kernel.layout import (
    ALLOCATED,
    ANSWERED,
    ASKED,
    BATCH,
    BIN_S,
    CAME,
    CROSSED,
    FAILURES,
    FINISHED,
    GANG,
    GANGS,
    GANGS_FAILED,
    LATE,
    SLOTS,
    TARGET_LOAD,
    WEB,
    WEB_LATE,
    WHOLE_GANGS,
    State,
)
from gnn.published.measure.build import build
from gnn.published.rules.named import Rule
from gnn.published.world.draw import World
from prewarm.domain import FloatArray, Int32Array


@dataclass(frozen=True, slots=True)
class Answer:
    """A policy's word on one pod: weights (F + 1,) over `NODE_FACTORS`, the temperature last; residual (c,) or None."""

    weights: FloatArray
    residual: FloatArray | None = None


Asked = Callable[[State, int], Answer]
"""Given the state and the kind of the pod that is to be placed (column ASKED of `i` says which); must not change it."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a run came to. came, failed: pods of batch and training. histogram: (seconds, bins) of calls by the second
    in which they began, the last bin those that took a second or were given up; all 0 where no calls were run.
    """

    came: int
    failed: int
    gangs: int
    gangs_failed: int
    web_late: int
    utilisation: float
    histogram: Int32Array
    counted_from_s: float
    calls_late: int
    crossings: float

    @property
    def failure_rate(self) -> float:
        """Failed pods of those that came."""
        return self.failed / max(self.came, 1)

    @property
    def p99_ms(self) -> float:
        """Over all calls after the warm-up, those given up included."""
        return percentile_ms(self.histogram[int(self.counted_from_s) :].sum(axis=0), 0.99)


def percentile_ms(counts: Int32Array, share: float) -> float:
    """Linear inside a bin; NaN where nothing was counted."""
    total = np.cumsum(counts, dtype=np.float64)
    if total[-1] == 0:
        return float("nan")
    wanted = share * total[-1]
    at = int(np.searchsorted(total, wanted))
    before = total[at - 1] if at else 0.0
    inside = (wanted - before) / max(total[at] - before, 1e-12) if at < len(counts) - 1 else 0.0
    return float((at + inside) * BIN_S * 1000.0)


def run_rule(world: World, rule: Rule) -> Outcome:
    """Fixed weights, compiled from start to end."""
    state = build(world)
    state["weights"][0, :] = rule.table
    state["f"][0, [TARGET_LOAD, WHOLE_GANGS]] = rule.target_load, rule.whole_gangs
    advance(state, world.duration_s, False)
    return outcome(state, world)


def run_asked(world: World, policy: Asked) -> Outcome:
    """A policy that gives weights for each pod as it is placed."""
    state = build(world)
    state["f"][0, WHOLE_GANGS] = 1.0
    drive(state, policy, until_s=world.duration_s)
    return outcome(state, world)


def drive(state: State, policy: Asked, *, until_s: float) -> None:
    """Run to `until_s`; can be called again to go on."""
    while advance(state, until_s, True):
        kind = asked_kind(state)
        answer = policy(state, kind)
        state["weights"][0, kind] = answer.weights
        state["residual"][0, kind] = 0.0 if answer.residual is None else answer.residual
        state["i"][0, ANSWERED] = 1


def asked_kind(state: State) -> int:
    """Kind of the pod that the simulator stopped before."""
    asked = int(state["i"][0, ASKED])
    if asked < SLOTS:
        return WEB
    return GANG if state["job_pods"][0, asked - SLOTS] > 1 else BATCH


def outcome(state: State, world: World) -> Outcome:
    """The figures of a run that has come to its end."""
    books, calls = state["books"][0], state["cn"][0]
    seconds = (world.duration_s - world.counted_from_s) * world.fleet.cores
    return Outcome(
        came=int(books[CAME]),
        failed=int(books[FAILURES]),
        gangs=int(books[GANGS]),
        gangs_failed=int(books[GANGS_FAILED]),
        web_late=int(books[WEB_LATE]),
        utilisation=float(state["f"][0, ALLOCATED] / seconds),
        histogram=state["histogram"][0],
        counted_from_s=world.counted_from_s,
        calls_late=int(calls[LATE]),
        crossings=float(calls[CROSSED] / max(calls[FINISHED], 1)),
    )
