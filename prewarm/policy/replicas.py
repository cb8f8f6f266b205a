"""How many instances a stream of requests needs: load, backlog and start-up time, as one pure function.

Warm pools of nearly idle functions are sized by cost (prewarm.policy.pool); a function under load is sized by the work
that comes. Load that will be there when a new instance can be ready, rate x duration, is spread over instances filled
to their target. A backlog asks for more only if they would help: new instances serve nobody before they are ready, so
the backlog is to be gone within the longer of that lead time and the drain goal. Instances that are starting already
count. A forecast that is no number decides nothing: the count stays, and the answer says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prewarm.domain import Forecast, Reason

FORECAST_INVALID = "forecast invalid"


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    """What one instance can do and what is wished for.

    duration_s: mean time of a call; concurrency: calls that an instance serves at a time; utilisation: the share of it
    that sizing counts on; lead_s: until an instance ordered now is ready; drain_s: a backlog must be gone in it.
    """

    duration_s: float
    concurrency: int
    utilisation: float = 0.7
    lead_s: float = 0.0
    drain_s: float = 2.0

    @property
    def calls_per_s(self) -> float:
        """Calls that one instance serves in a second when it is full."""
        return self.concurrency / self.duration_s


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """Instances that serve, instances being started, and calls that wait."""

    ready: int
    starting: int = 0
    waiting: int = 0

    @property
    def held(self) -> int:
        """Instances that exist or will, if nothing more is decided."""
        return self.ready + self.starting


@dataclass(frozen=True, slots=True)
class Sizing:
    """Instances to have, why, and `held` with the reason where nothing could be decided and the count stays."""

    count: int
    reasons: tuple[Reason, ...]
    held: str | None = None


def size_replicas(rate_per_s: float | None, state: ReplicaState, spec: ReplicaSpec) -> Sizing:
    """Instances for `rate_per_s` calls a second expected over the lead time (a high quantile), before any bound.

    None, NaN and infinities hold; a negative rate is read as 0.
    """
    if rate_per_s is None or not math.isfinite(rate_per_s):
        text = f"{FORECAST_INVALID} ({rate_per_s}); kept {state.held}"
        return Sizing(state.held, (Reason("forecast", text),), FORECAST_INVALID)
    rate = max(0.0, rate_per_s)
    busy = rate * spec.duration_s
    for_load = _round_up(busy / (spec.concurrency * spec.utilisation))
    reasons = [_load_reason(busy, for_load, spec)]
    for_backlog = _for_backlog(rate, state, spec)
    count = max(for_load, for_backlog)
    if state.waiting > 0:
        reasons.append(_drain_reason(rate, count, state, spec))
    if for_backlog > for_load:
        text = f"{for_backlog} instances clear what waits within {_drain_goal_s(spec):.1f} s of being ordered"
        reasons.append(Reason("backlog", text, float(for_backlog), float(for_load)))
    if state.starting > 0:
        text = f"{state.starting} already starting, counted toward {count}"
        reasons.append(Reason("starting", text, float(state.starting), float(count)))
    return Sizing(count, tuple(reasons))


def rate_over_lead(forecast: Forecast, *, level: float, lead_s: float, now: float) -> float:
    """Highest forecast rate (calls a second) at quantile `level` in any step that touches now .. now + lead_s.

    The nearest level that is not below is taken, else the highest. NaN if the forecast does not cover the moment.
    """
    first = math.floor((now - forecast.issued_at) / forecast.step_s)
    last = math.floor((now + lead_s - forecast.issued_at) / forecast.step_s)
    steps = forecast.quantiles[max(0, first) : last + 1]
    if not len(steps) or not forecast.levels:
        return math.nan
    above = [at for at, known in enumerate(forecast.levels) if known >= level]
    column = above[0] if above else len(forecast.levels) - 1
    return float(np.max(steps[:, column])) / forecast.step_s


def lead_time_s(start_s: float, missing: int, starts_per_s: float | None) -> float:
    """Time until the last of `missing` instances is ready: start-up time plus the queue at the control plane."""
    return start_s + (missing / starts_per_s if starts_per_s else 0.0)


def _for_backlog(rate: float, state: ReplicaState, spec: ReplicaSpec) -> int:
    """Instances that serve the rate and clear, in the drain goal, what will wait once new ones can be ready."""
    if state.waiting <= 0:
        return 0
    growth = max(0.0, rate - state.ready * spec.calls_per_s) * spec.lead_s
    return _round_up((rate + (state.waiting + growth) / _drain_goal_s(spec)) / spec.calls_per_s)


def _drain_goal_s(spec: ReplicaSpec) -> float:
    return max(spec.drain_s, spec.lead_s)


def _load_reason(busy: float, count: int, spec: ReplicaSpec) -> Reason:
    room = spec.concurrency * spec.utilisation
    text = f"rate x duration = {busy:.3g} busy, {room:.3g} to an instance: {count}"
    return Reason("load", text, busy, room)


def _drain_reason(rate: float, count: int, state: ReplicaState, spec: ReplicaSpec) -> Reason:
    spare = count * spec.calls_per_s - rate
    if spare <= 0:
        return Reason("drain_s", f"{state.waiting} waiting, and {count} instances do not keep up")
    seconds = state.waiting / spare
    text = f"{state.waiting} waiting / ({count * spec.calls_per_s:.3g} - {rate:.3g} per s) = {seconds:.1f} s to drain"
    return Reason("drain_s", text, seconds, _drain_goal_s(spec))


def _round_up(instances: float) -> int:
    """Ceiling that does not take a rounding error for an instance."""
    return math.ceil(instances - 1e-9)
