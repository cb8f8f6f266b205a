"""The policy `prewarm` at minute grain: the service's own foresight and control, minute by minute over a trace.

Only the asking of the models is done in batches (see `chances`); what is remembered, foreseen and decided goes through
the same `remember`, `foresee` and `decide` that a tick of the service calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from prewarm.control import FleetState, decide
from prewarm.domain import COLD_COST, BoolArray, FunctionKey, Int32Array, Mode, PolicyTag
from prewarm.forecast.experts.opinions import EXPERTS, Opinions, shipped_model
from prewarm.forecast.levels.online import Recalibration
from prewarm.foresight import Announcement, empty_memory, foresee, remember, with_functions
from prewarm.policy.columns import MIB_IN_GB, Measured, PolicyColumns, compile_policy
from prewarm.policy.pool import Levels
from prewarm.settings import Call, FunctionPolicy
from prewarm.sim.chances import ChanceModel, Past, known_since, marks_of, opinions_by_minute
from prewarm.sim.minute import MinuteWorkload, Progress

STEP_S = 60.0
DEFAULT_MEMORY_GB = 0.143  # median of the public marginal, where a trace does not say
TAG = PolicyTag("prewarm", "1")


@dataclass(frozen=True, slots=True)
class Event:
    """An announcement in a trace: these rows need so much in minutes [first, last), known since `known_from`."""

    name: str
    rows: Int32Array
    first: int
    last: int
    known_from: int
    need: int
    sure: float = 0.95
    spread: float = 0.0


@dataclass(frozen=True, slots=True)
class Extras:
    """What a policy may be told beside the counts, and which of its parts are switched off for a comparison."""

    calls: tuple[Call, ...] = ()
    events: tuple[Event, ...] = ()
    epoch_minute: int = 4 * 1440
    """Minutes since the epoch at the trace's first minute; a Monday where a trace has no date."""
    calendar: bool = True
    recalibration: bool = True
    upper_levels: bool = True
    """Without them a function that is worth keeping is kept at what it needed last."""


@dataclass(frozen=True, slots=True)
class PrewarmPolicy:
    """`cold_weight` multiplies the price of a cold start; `model` None takes the shipped one."""

    cold_weight: float = 1.0
    extras: Extras = field(default_factory=Extras)
    model: ChanceModel | None = None
    name: str = "prewarm"

    def allocations(self, workload: MinuteWorkload, *, progress: Progress | None = None) -> Int32Array:
        """Warm instances (n, T): column t is decided from the columns before t."""
        asked = asked_of(workload, self.model or shipped_model(), self.extras, progress)
        return run(workload, asked, self.extras, cold_weights=(self.cold_weight,))[0]


def asked_of(
    workload: MinuteWorkload,
    model: ChanceModel,
    extras: Extras,
    progress: Progress | None = None,
    span: tuple[int, int] | None = None,
) -> list[Opinions]:
    """What the experts say of every minute of `span` (all); the costly part, which any number of `run` can share."""
    past = Past(
        workload.need,
        marks_of(workload.concurrency if workload.calls is None else workload.calls, workload.need),
        known_since(workload.unknown, workload.need.shape),
        extras.epoch_minute,
    )
    return list(opinions_by_minute(past, model, span=span, calendar=extras.calendar, told=progress))


def run(
    workload: MinuteWorkload,
    asked: Sequence[Opinions],
    extras: Extras,
    *,
    cold_weights: Sequence[float] = (1.0,),
    first: int = 0,
) -> list[Int32Array]:
    """Allocations (n, T) for each weight of a cold start, from the opinions on the minutes from `first` on.

    One pass remembers and foresees; each weight only decides, since what is expected does not depend on the price.
    """
    fleets = [_Fleet(workload, weight) for weight in cold_weights]
    rows = {FunctionKey(key): row for row, key in enumerate(workload.keys)}
    memory = with_functions(empty_memory(len(EXPERTS)), extras.calls, rows, step_s=STEP_S)
    for minute, opinions in enumerate(asked, first):
        heard = opinions if extras.calendar else _without_calendar(opinions)
        told, memory = foresee(memory, heard, _announced(extras.events, minute))
        last = workload.need[:, max(minute - 1, 0)] * (minute > 0)
        for fleet in fleets:
            fleet.decide(minute, told, last if not extras.upper_levels else None)
        memory = remember(memory, workload.need[:, minute], _known(workload, minute))
        if not extras.recalibration:
            memory = replace(memory, errors=Recalibration.fresh(len(memory.errors.weight)))
    return [fleet.kept for fleet in fleets]


def _known(workload: MinuteWorkload, minute: int) -> BoolArray:
    if workload.unknown is None:
        return np.ones(len(workload.keys), np.bool_)
    return ~workload.unknown[:, minute]


class _Fleet:
    """The state of one replayed fleet at one price, and what it kept."""

    def __init__(self, workload: MinuteWorkload, cold_weight: float) -> None:
        size = len(workload.keys)
        keys = tuple(FunctionKey(key) for key in workload.keys)
        nothing = np.zeros(size, np.int32)
        self.kept = np.zeros(workload.need.shape, np.int32)
        self._state = FleetState(
            keys, {key: row for row, key in enumerate(keys)}, nothing, nothing, np.zeros(size), np.full(size, np.nan)
        )
        self._policy = _policy(workload, cold_weight)

    def decide(self, minute: int, levels: Levels, last_need: Int32Array | None) -> None:
        """Decide one minute by the service's control."""
        tick = decide(
            self._state,
            self._policy,
            levels=levels,
            overrides=(),
            now=minute * STEP_S,
            mode=Mode.ACTIVE,
            tag=TAG,
        )
        count = tick.to_count
        if last_need is not None:
            count = np.where(count > 0, np.maximum(1, last_need), 0).astype(np.int32)
        self.kept[:, minute] = count
        self._state = replace(self._state, warm=count, lower_since=tick.lower_since)


def _policy(workload: MinuteWorkload, cold_weight: float) -> PolicyColumns:
    memory_gb = np.where(np.isfinite(workload.memory_gb), workload.memory_gb, DEFAULT_MEMORY_GB)
    entry = FunctionPolicy(cold_cost=COLD_COST * cold_weight)
    measured = Measured(memory_gb / MIB_IN_GB, np.full(len(memory_gb), np.nan))
    return compile_policy(workload.keys, lambda _: entry, measured, step_s=STEP_S, default_start_s=0.0).columns


def _announced(events: Sequence[Event], minute: int) -> tuple[Announcement, ...]:
    return tuple(
        Announcement(event.name, event.rows, event.need, event.sure, event.spread)
        for event in events
        if event.first <= minute < event.last and event.known_from < minute
    )


def _without_calendar(opinions: Opinions) -> Opinions:
    chance = opinions.chance.copy()
    chance[:, 1:] = np.nan
    return replace(opinions, chance=chance)
