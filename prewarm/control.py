"""From probabilities to decisions with reasons: the only entry, for the service and the simulator alike.

`decide` is a pure function over columns: sizing, bounds, step, delay, budget, overrides, then the rule that nothing is
cut on data that is missing. Every stage's result is kept, so that the full record of one decision is built when
somebody asks for it and a tick over many functions never builds what nobody reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from prewarm.domain import (
    BoolArray,
    DataState,
    Decision,
    FloatArray,
    FunctionKey,
    Int32Array,
    Mode,
    Override,
    PolicyTag,
    Reason,
    decision_id,
    forecast_id,
)
from prewarm.policy import bounds
from prewarm.policy.columns import UNBOUNDED, PolicyColumns
from prewarm.policy.overrides import apply_overrides
from prewarm.policy.pool import Levels, pool_target, span_of, threshold, threshold_for_latency

DATA_STATES = (DataState.OK, DataState.PARTIAL, DataState.STALE, DataState.NONE)


class Because(Protocol):
    """Whoever gave the levels, asked for the reasons behind one function's."""

    def reasons(self, row: int, keys: Sequence[FunctionKey]) -> tuple[Reason, ...]:
        """What carried the forecast of the function in `row`."""
        ...


@dataclass(frozen=True, slots=True)
class FleetState:
    """What is so before the decision, one row a function.

    warm: instances ready or starting, (n,). data: index into `DATA_STATES`, (n,). data_age_s: seconds since the last
    news, NaN where there was none, (n,). lower_since: from the last tick's decisions, NaN at first, (n,).
    """

    keys: tuple[FunctionKey, ...]
    rows: Mapping[FunctionKey, int]
    warm: Int32Array
    data: Int32Array
    data_age_s: FloatArray
    lower_since: FloatArray


@dataclass(frozen=True, slots=True)
class Stages:
    """What each rule left, in order; the difference between neighbours is that rule's doing. All (n,)."""

    sized: Int32Array
    bounded: Int32Array
    stepped: Int32Array
    delayed: Int32Array
    budgeted: Int32Array
    overridden: Int32Array


@dataclass(frozen=True, slots=True)
class TickDecisions:
    """All decisions of one tick as columns; `decision(row)` is one of them with its reasons."""

    state: FleetState
    policy: PolicyColumns
    levels: Levels
    limit: FloatArray
    stages: Stages
    invalid: BoolArray
    held: BoolArray
    to_count: Int32Array
    lower_since: FloatArray
    spoken: Mapping[int, tuple[Override, ...]]
    now: float
    mode: Mode
    tag: PolicyTag
    because: Because | None = None
    inputs: Mapping[str, float | str | None] = field(default_factory=dict)

    def changed(self) -> Iterator[Decision]:
        """The decisions that change a number of instances or could not be made."""
        for row in np.flatnonzero((self.to_count != self.state.warm) | self.held):
            yield self.decision(int(row))

    def decision(self, row: int) -> Decision:
        """The full record of one function's decision."""
        policy, state = self.policy, self.state
        age = float(state.data_age_s[row])
        inputs: dict[str, float | str | None] = {
            **self.inputs,
            "forecast": forecast_id(self.now, state.keys[row]),
            "cost_cold": float(policy.cold_cost[row]),
            "cost_idle_per_step": round(float(policy.idle_cost[row]), 6),
            "lead_s": round(float(policy.start_s[row]), 3),
            "data_age_s": round(age, 3) if np.isfinite(age) else None,
            "data": str(DATA_STATES[int(state.data[row])]),
        }
        return Decision(
            id=decision_id(self.now, state.keys[row]),
            at=self.now,
            function=state.keys[row],
            cluster=None,
            from_count=int(state.warm[row]),
            to_count=int(self.to_count[row]),
            applied=False,
            mode=self.mode,
            policy=self.tag,
            inputs=inputs,
            reasons=tuple(_reasons(self, row)),
            held=_held_text(self, row) if self.held[row] else None,
        )


def decide(
    state: FleetState,
    policy: PolicyColumns,
    *,
    levels: Levels,
    overrides: Iterable[Override],
    now: float,
    mode: Mode,
    tag: PolicyTag,
    because: Because | None = None,
) -> TickDecisions:
    """How many instances each function is to have warm from `now` on.

    `levels` holds, for each function, P(N >= k) over the time that this decision must cover: its step and the start-up
    before it (see `prewarm.forecast`). Where its data is stale or absent, or its probabilities are no numbers, a
    function keeps what it has (a floor may still raise it); on partial data it may grow but not shrink.
    """
    limit = threshold_for_latency(policy.latency_goal_ms, policy.start_s, threshold(policy.cold_cost, policy.idle_cost))
    sized, invalid = pool_target(levels, limit)
    held = invalid | (state.data >= DATA_STATES.index(DataState.STALE))
    sized = np.where(held, state.warm, sized)
    partial = state.data == DATA_STATES.index(DataState.PARTIAL)
    sized = np.where(partial, np.maximum(sized, state.warm), sized).astype(np.int32)
    stages, lower_since = _bounded(state, policy, levels, sized=sized, now=now)
    final, spoken = apply_overrides(stages.budgeted, state.warm, rows=state.rows, overrides=overrides, now=now)
    return TickDecisions(
        state=state,
        policy=policy,
        levels=levels,
        limit=limit,
        stages=Stages(stages.sized, stages.bounded, stages.stepped, stages.delayed, stages.budgeted, final),
        invalid=invalid,
        held=held,
        to_count=final,
        lower_since=lower_since,
        spoken=spoken,
        now=now,
        mode=mode,
        tag=tag,
        because=because,
    )


def _bounded(
    state: FleetState, policy: PolicyColumns, levels: Levels, *, sized: Int32Array, now: float
) -> tuple[Stages, FloatArray]:
    bounded = bounds.clamp(sized, policy.minimum, policy.maximum)
    stepped = bounds.limit_step(bounded, state.warm, policy.step_up, policy.step_down)
    delayed, lower_since = bounds.delay_fall(
        stepped, state.warm, state.lower_since, delay_s=policy.down_delay_s, now=now
    )
    budgeted = delayed
    if policy.budget_gb is not None:
        budgeted = bounds.fit_budget(
            delayed,
            policy.minimum,
            levels,
            value=policy.cold_cost,
            memory_gb=policy.memory_gb,
            budget_gb=policy.budget_gb,
        )
    return Stages(sized, bounded, stepped, delayed, budgeted, budgeted), lower_since


def _held_text(tick: TickDecisions, row: int) -> str:
    kept = int(tick.to_count[row])
    if tick.invalid[row]:
        return f"forecast invalid; kept {kept}"
    age = float(tick.state.data_age_s[row])
    return f"no data for {age:.0f} s; kept {kept}" if np.isfinite(age) else f"no data yet; kept {kept}"


def _reasons(tick: TickDecisions, row: int) -> Iterator[Reason]:
    if not tick.held[row]:
        yield from _level_reasons(tick, row)
        if tick.because is not None:
            yield from tick.because.reasons(row, tick.state.keys)
    if tick.state.data[row] == DATA_STATES.index(DataState.PARTIAL):
        yield Reason("partial_data", "partial data: may grow, does not shrink")
    if tick.policy.memory_assumed[row]:
        yield Reason(
            "memory", "memory unknown: the fleet's median is used", value=round(float(tick.policy.memory_gb[row]), 4)
        )
    yield from _bound_reasons(tick, row)
    for said in tick.spoken.get(row, ()):
        value = None if said.value is None else float(said.value)
        yield Reason("override", f"{said.action} by {said.owner}: {said.reason}", value=value)


def _level_reasons(tick: TickDecisions, row: int) -> Iterator[Reason]:
    """The last level that pays and the first that does not, each against its price."""
    first, last = span_of(tick.levels.row, row)
    limit = float(tick.limit[row])
    chances = np.asarray(tick.levels.p)[first:last]
    paid = int(np.argmax(~(chances > limit))) if (~(chances > limit)).any() else len(chances)
    for position in (paid - 1, paid):
        if not 0 <= position < len(chances):
            continue
        chance, number = float(chances[position]), position + 1
        verdict = "worth it from" if chance > limit else "not worth it below"
        text = f"instance {number} needed with {chance:.1%}, {verdict} {limit:.1%}"
        yield Reason(f"p_at_least_{number}", text, value=round(chance, 6), against=round(limit, 6))
    if len(chances) == 0:
        yield Reason("p_at_least_1", "no chance of a call is seen", value=0.0, against=round(limit, 6))


def _bound_reasons(tick: TickDecisions, row: int) -> Iterator[Reason]:
    stages, policy = tick.stages, tick.policy
    rises = (
        ("min", stages.sized, stages.bounded, policy.minimum, "raised to the floor"),
        ("step_down", stages.bounded, stages.stepped, policy.step_down, "fall limited by its step"),
        ("down_delay_s", stages.stepped, stages.delayed, policy.down_delay_s, "fall waits for its delay"),
    )
    falls = (
        ("max", stages.sized, stages.bounded, policy.maximum, "cut to the ceiling"),
        ("step_up", stages.bounded, stages.stepped, policy.step_up, "growth limited by its step"),
        ("budget", stages.delayed, stages.budgeted, policy.memory_gb, "let go to fit the memory budget"),
    )
    for sign, rules in ((1, rises), (-1, falls)):
        for factor, before, after, bound, text in rules:
            if (int(after[row]) - int(before[row])) * sign > 0:
                told = f"{text}: {int(before[row])} -> {int(after[row])}"
                yield Reason(factor, told, value=float(after[row]), against=round(float(bound[row]), 4))
    if UNBOUNDED > int(policy.maximum[row]) >= int(stages.sized[row]):
        yield Reason("max", "bound not reached", value=float(policy.maximum[row]))
