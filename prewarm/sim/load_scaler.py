"""prewarm's own rule for functions under load, asked every tick: expected rate, sizing, bounds, in that order.

What is expected is the highest of three voices: the settings (a window with a minimum that will be open when an
instance ordered now is ready), the forecast of the coming minutes over the lead time, and the last seconds with their
trend. Counts come from prewarm.policy.replicas and bounds from prewarm.policy, the very functions that the service
calls; the forecaster is one of prewarm.forecast, asked once a minute with the minutes that are over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from prewarm.domain import FloatArray, Forecast, Reason
from prewarm.forecast.batch import Forecaster, forecasts
from prewarm.forecast.series import SeriesBatch
from prewarm.policy import bounds
from prewarm.policy.columns import PolicyTable
from prewarm.policy.replicas import ReplicaSpec, ReplicaState, Sizing, lead_time_s, rate_over_lead, size_replicas
from prewarm.sim.scalers import Observation
from prewarm.sim.startup import StartLaw

TREND_S = 4  # seconds over which a rise is measured
NOISE = 2.0  # standard deviations of a Poisson count that a rise must exceed
STEPS = 15  # minutes that a forecast covers
LEVEL = 0.9  # quantile of the forecast that is planned for


def recent_rate(calls: FloatArray, lead_s: float) -> float:
    """Calls a second to expect after `lead_s`: those of the last second, plus a rise that is more than noise.

    calls: per second, newest last. A rise is only read off seconds that had calls, so a step is not taken for a slope.
    """
    if not calls.size or not calls.any():
        return 0.0
    latest = float(calls[-1])
    active = len(calls) - int(np.flatnonzero(calls > 0)[0])
    span = min(TREND_S, active - 1)
    if span < 1:
        return latest
    earlier = float(calls[-1 - span])
    rise = latest - earlier - NOISE * math.sqrt(latest + earlier)
    return latest + max(0.0, rise) / span * lead_s


@dataclass(slots=True)
class MinuteForecasts:
    """A forecaster with one function's counts: whole minutes before the run, and those of the run as they end.

    history: counts per minute up to `epoch_s`, NaN unknown; epoch_s: the time at which the run's clock is 0.
    """

    forecaster: Forecaster
    history: FloatArray
    epoch_s: float
    _minute: int = 0
    _issued: Forecast | None = None

    def at(self, now_s: float, calls: FloatArray) -> Forecast:
        """The forecast of the current minute; calls: per second up to now, newest last (a minute of them at least)."""
        minute = math.floor(now_s / 60.0)
        if self._issued is None or minute > self._minute:
            over = np.full(minute - self._minute, np.nan)  # minutes in which nobody asked stay unknown
            over[-1:] = calls[-60:].sum()
            self.history = np.append(self.history, over)
            start = self.epoch_s + 60.0 * (minute - len(self.history))
            batch = SeriesBatch(self.history[None, :], 60, start, ("load/function",))
            self._issued = next(forecasts(self.forecaster.predict(batch, STEPS, (0.5, LEVEL)), batch))
            self._minute = minute
        return self._issued


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """What is known of one function before the run.

    policy: a table compiled for this one function; spec: what an instance does; start, starts_per_s: how instances
    start; epoch_s: the time at which the run's clock is 0; lead_level: share of starts that a lead time is to cover.
    """

    policy: PolicyTable
    spec: ReplicaSpec
    start: StartLaw
    starts_per_s: float | None = None
    epoch_s: float = 0.0
    lead_level: float = 0.99
    tick_s: float = 2.0


@dataclass(slots=True)
class LoadScaler:
    """Keeps, between ticks, since when fewer instances were wanted; everything else is looked at anew."""

    plan: LoadPlan
    coming: MinuteForecasts | None = None
    lower_since: FloatArray = field(default_factory=lambda: np.array([np.nan]))

    def desired(self, now_s: float, observation: Observation) -> int:
        """Instances wanted, after bounds and the delay of falls."""
        sizing, floor = self.sized(now_s, observation)
        columns = self.plan.policy.at(self.plan.epoch_s + now_s)
        target, current = (np.array([count], dtype=np.int32) for count in (sizing.count, observation.held))
        target = bounds.clamp(target, np.array([floor], dtype=np.int32), columns.maximum)
        target, self.lower_since = bounds.delay_fall(
            target, current, self.lower_since, delay_s=columns.down_delay_s, now=now_s
        )
        return int(target[0])

    def sized(self, now_s: float, observation: Observation) -> tuple[Sizing, int]:
        """The sizing with its reasons, and the floor that the settings announce for the end of the lead time."""
        floor = self._announced(now_s, observation)
        # Reaction counts on the usual start: planning for a slow one would take the backlog for something patient.
        lead_s = self.plan.start.quantile(0.5)
        reactive = recent_rate(observation.calls, lead_s)
        expected = self._expected(now_s, observation)
        state = ReplicaState(observation.ready, observation.starting, observation.waiting)
        sizing = size_replicas(max(reactive, expected), state, replace(self.plan.spec, lead_s=lead_s))
        if observation.in_system > 0 and sizing.count == 0:
            sizing = replace(sizing, count=1)
        return replace(sizing, reasons=(*sizing.reasons, *_voices(reactive, expected, floor))), floor

    def wake_s(self, now_s: float) -> float:
        """Every tick: forecast and settings may ask for instances while nobody calls."""
        return now_s + self.plan.tick_s

    def _announced(self, now_s: float, observation: Observation) -> int:
        """The highest minimum of any window that is open now or will be by the time the instances for it are ready."""
        table, now = self.plan.policy, self.plan.epoch_s + now_s
        highest = int(table.at(now).minimum[0])
        for _, windows in table.windows:
            lead_s = self._lead_for(max((window.min or 0 for window in windows), default=0), observation)
            moments = np.arange(now, now + lead_s + 60.0, 60.0).clip(max=now + lead_s)
            highest = max(highest, *(int(table.at(float(moment)).minimum[0]) for moment in moments))
        return highest

    def _expected(self, now_s: float, observation: Observation) -> float:
        """The rate that the forecast gives for the time until instances ordered now are ready."""
        if self.coming is None:
            return 0.0
        forecast = self.coming.at(now_s, observation.calls)
        highest = rate_over_lead(forecast, level=LEVEL, lead_s=STEPS * 60.0, now=forecast.issued_at)
        most = size_replicas(highest, ReplicaState(0), self.plan.spec).count
        lead_s = self._lead_for(most, observation)
        return rate_over_lead(forecast, level=LEVEL, lead_s=lead_s, now=self.plan.epoch_s + now_s)

    def _lead_for(self, wanted: int, observation: Observation) -> float:
        """From the order of what is missing to `wanted` to its being ready, with the ticks between."""
        missing = max(0, wanted - observation.ready)
        start_s = self.plan.start.quantile(self.plan.lead_level)
        return lead_time_s(start_s, missing, self.plan.starts_per_s) + 2 * self.plan.tick_s


def _voices(reactive: float, expected: float, floor: int) -> tuple[Reason, ...]:
    """Who asked for what."""
    told = [Reason("recent_rate", f"{reactive:.3g} calls a second from the last seconds and their trend", reactive)]
    if expected > 0:
        told.append(Reason("forecast", f"{expected:.3g} calls a second forecast over the lead time", expected))
    if floor > 0:
        told.append(Reason("window", f"the settings ask for {floor} by the end of the lead time", float(floor)))
    return tuple(told)
