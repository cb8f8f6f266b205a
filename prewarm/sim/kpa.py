"""Knative's autoscaler (KPA) by its published defaults, as a function of (settings, state, observation, now).

From knative/serving: config/core/configmaps/autoscaler.yaml for the numbers, docs/serving/autoscaling for the rule.
Load is the mean number in the system over a stable window (60 s) and a panic window (10 % of it). Wanted is load over
70 % of the concurrency limit, at most 1,000 times up and half down in one step of 2 s. When the panic window alone asks
for twice what is ready, the scaler panics: for a stable window after the last such moment it does not go down. The last
instance goes when the load has been zero for the stable window and the grace period (30 s, an upper bound in Knative).

Departures: a mean is taken over the seconds since the first call after zero, as Knative's buckets do; one scaler
process measures without scrape delay; the activator has the capacity of the queue in prewarm.sim.queueing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from prewarm.sim.scalers import Observation

_RECENT_S = 2.0  # load of the last tick starts the measurement


@dataclass(frozen=True, slots=True)
class KpaSettings:
    """The published defaults; `concurrency_limit` is the function's own (default target 100)."""

    concurrency_limit: int = 100
    target_utilisation: float = 0.7
    stable_window_s: int = 60
    panic_window_share: float = 0.1
    panic_threshold: float = 2.0
    max_up: float = 1000.0
    max_down: float = 2.0
    grace_s: float = 30.0
    burst_capacity: float = 211.0
    tick_s: float = 2.0

    @property
    def target(self) -> float:
        """Load per instance that is aimed at."""
        return self.concurrency_limit * self.target_utilisation

    @property
    def panic_window_s(self) -> int:
        """Length of the panic window in whole seconds, at least 1."""
        return max(1, round(self.stable_window_s * self.panic_window_share))


@dataclass(frozen=True, slots=True)
class KpaState:
    """What the rule remembers: since when it measures and last saw load, its last panic with the peak, since when 0."""

    measuring_since_s: float | None = None
    loaded_at_s: float = 0.0
    panic_at_s: float | None = None
    panic_peak: int = 0
    zero_since_s: float | None = None


@dataclass(frozen=True, slots=True)
class KpaDecision:
    """Instances wanted, the two loads behind it, and whether the activator stays in the path of requests."""

    desired: int
    stable: float
    panic: float
    panicking: bool
    activator: bool


def decide(
    settings: KpaSettings, state: KpaState, observation: Observation, now_s: float
) -> tuple[KpaDecision, KpaState]:
    """One evaluation; see the module's text."""
    state = _measuring(state, observation, now_s)
    stable = _load(settings.stable_window_s, state, observation, now_s)
    panic = _load(settings.panic_window_s, state, observation, now_s)
    ready = max(1, observation.ready)
    up, down = math.ceil(settings.max_up * ready), math.floor(ready / settings.max_down)
    wanted_stable = min(max(math.ceil(stable / settings.target), down if observation.ready else 0), up)
    wanted_panic = min(max(math.ceil(panic / settings.target), down if observation.ready else 0), up)
    over = math.ceil(panic / settings.target) / ready >= settings.panic_threshold
    state = _panicking(settings, state, over, now_s)
    wanted = wanted_stable
    if state.panic_at_s is not None:
        wanted = max(wanted_stable, wanted_panic, state.panic_peak)
        at = now_s if wanted > state.panic_peak else state.panic_at_s
        state = replace(state, panic_peak=wanted, panic_at_s=at)
    desired, state = _towards_zero(settings, state, wanted, stable, now_s)
    spare = observation.ready * settings.concurrency_limit - panic - settings.burst_capacity
    activator = observation.ready == 0 or spare < 0
    return KpaDecision(desired, stable, panic, state.panic_at_s is not None, activator), state


@dataclass(slots=True)
class KpaScaler:
    """Holds the state between evaluations of one function."""

    settings: KpaSettings
    state: KpaState = KpaState()
    _wanted: int = 0

    def desired(self, now_s: float, observation: Observation) -> int:
        """What the rule wants now."""
        decision, self.state = decide(self.settings, self.state, observation, now_s)
        self._wanted = decision.desired
        return decision.desired

    def wake_s(self, now_s: float) -> float:
        """At rest only a call wakes it; with one instance left, the end of its windows; with more, the next tick."""
        state, settings = self.state, self.settings
        if state.measuring_since_s is None:
            return math.inf
        if self._wanted > 1:
            return now_s + settings.tick_s
        if state.zero_since_s is not None:
            return state.zero_since_s + settings.grace_s
        panicked_s = state.panic_at_s if state.panic_at_s is not None else 0.0
        return max(state.loaded_at_s, panicked_s) + settings.stable_window_s


def _measuring(state: KpaState, observation: Observation, now_s: float) -> KpaState:
    """Measurement starts with the first call after rest."""
    if observation.in_system > 0:
        loaded_at_s = now_s
    else:
        seconds = np.flatnonzero(observation.concurrency)
        if not seconds.size:
            return state
        loaded_at_s = float(math.floor(now_s) - observation.concurrency.size + int(seconds[-1]) + 1)
    if state.measuring_since_s is None:
        if loaded_at_s < now_s - _RECENT_S:
            return state
        state = replace(state, measuring_since_s=now_s if observation.poked else now_s - _RECENT_S)
    return replace(state, loaded_at_s=loaded_at_s)


def _load(window_s: int, state: KpaState, observation: Observation, now_s: float) -> float:
    """Mean number in the system over the window; before a whole second was measured, the number of the moment."""
    if state.measuring_since_s is None:
        return 0.0
    seconds = min(window_s, math.floor(now_s) - math.floor(state.measuring_since_s), observation.concurrency.size)
    if seconds <= 0:
        return float(observation.in_system)
    return float(observation.concurrency[-seconds:].mean())


def _panicking(settings: KpaSettings, state: KpaState, over: bool, now_s: float) -> KpaState:
    if over:
        return replace(state, panic_at_s=now_s)
    if state.panic_at_s is not None and state.panic_at_s + settings.stable_window_s <= now_s:
        return replace(state, panic_at_s=None, panic_peak=0)
    return state


def _towards_zero(
    settings: KpaSettings, state: KpaState, wanted: int, stable: float, now_s: float
) -> tuple[int, KpaState]:
    """Keep the last instance for the grace period after the load was zero for a stable window."""
    if state.measuring_since_s is None:
        return 0, state
    if wanted > 0 or stable > 0:
        return max(1, wanted), replace(state, zero_since_s=None)
    since = state.zero_since_s if state.zero_since_s is not None else now_s
    if now_s - since >= settings.grace_s:
        return 0, KpaState()
    return 1, replace(state, zero_since_s=since)
