"""prewarm's rule under load: what it expects from the last seconds, from settings and from a forecast."""

from __future__ import annotations

import math
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from prewarm.domain import FloatArray
from prewarm.forecast.local.peaks import RepeatedPeaks
from prewarm.forecast.local.smoothing import Smoothing
from prewarm.policy.columns import Measured, PolicyTable, compile_policy
from prewarm.policy.replicas import ReplicaSpec
from prewarm.settings import FunctionPolicy, Window
from prewarm.sim.load_scaler import LoadPlan, LoadScaler, MinuteForecasts, recent_rate
from prewarm.sim.scalers import Observation
from prewarm.sim.startup import ConstantStart

MIDNIGHT = 1_767_571_200.0
SPEC = ReplicaSpec(0.1, 10)


def table(*windows: Window, delay_s: float = 0.0, most: int | None = None) -> PolicyTable:
    policy = FunctionPolicy(windows=windows, down_delay_s=delay_s, max=most)
    return compile_policy(["a/b"], lambda _: policy, Measured(np.ones(1), np.ones(1)), step_s=60, default_start_s=2.0)


def plan(policy: PolicyTable, *, starts_per_s: float | None = None) -> LoadPlan:
    return LoadPlan(policy, SPEC, ConstantStart(3.0), starts_per_s, MIDNIGHT)


def seen(calls: list[float], *, held: int = 0, waiting: int = 0) -> Observation:
    shown = np.array(calls, dtype=np.float64)
    return Observation(shown, shown, waiting, waiting, held, 0)


IDLE = seen([0.0] * 60)


@pytest.mark.parametrize(
    ("calls", "rate"),
    [
        pytest.param([], 0.0, id="nothing-measured"),
        pytest.param([0.0, 0.0], 0.0, id="nobody-calls"),
        pytest.param([0.0, 0.0, 0.0, 5000.0, 5000.0], 5000.0, id="a-step-is-no-slope"),
        pytest.param([0.0, 0.0, 5000.0], 5000.0, id="one-second-is-no-slope"),
        pytest.param([1000.0, 1010.0, 990.0, 1020.0, 1030.0], 1030.0, id="noise-is-no-slope"),
        pytest.param([5000.0, 4000.0, 3000.0, 2000.0, 1000.0], 1000.0, id="a-fall-is-followed"),
    ],
)
def test_the_rate_of_the_last_seconds(calls: list[float], rate: float) -> None:
    assert recent_rate(np.array(calls), 3.0) == rate


def test_a_rise_is_carried_on_over_the_lead_time() -> None:
    rising = np.array([1000.0, 1500.0, 2000.0, 2500.0, 3000.0])
    noise = 2 * math.sqrt(4000.0)
    assert recent_rate(rising, 3.0) == pytest.approx(3000 + (2000 - noise) / 4 * 3)


def test_a_step_is_sized_at_the_next_tick() -> None:
    assert LoadScaler(plan(table())).desired(2.0, seen([5000.0, 5000.0])) == 72


def test_the_first_call_wants_an_instance_before_its_rate_is_known() -> None:
    assert LoadScaler(plan(table())).desired(7.3, seen([0.0, 0.0], waiting=1)) == 1


def test_a_window_is_filled_a_lead_time_before_it_opens() -> None:
    # From 00:10; a start takes 3 s, and two ticks of 2 s lie between deciding and starting.
    scaler = LoadScaler(plan(table(Window(start_minute=10, end_minute=20, min=72))))
    assert scaler.desired(600.0 - 8.0, IDLE) == 0
    assert scaler.desired(600.0 - 7.0, IDLE) == 72
    assert scaler.desired(900.0, seen([0.0], held=72)) == 72
    assert scaler.desired(1200.0, seen([0.0], held=72)) == 0


def test_a_slow_control_plane_makes_the_lead_time_longer() -> None:
    scaler = LoadScaler(plan(table(Window(start_minute=10, end_minute=20, min=72)), starts_per_s=2.0))
    assert scaler.desired(600.0 - 44.0, IDLE) == 0
    assert scaler.desired(600.0 - 43.0, IDLE) == 72


def test_the_ceiling_holds_and_a_fall_waits() -> None:
    scaler = LoadScaler(plan(table(delay_s=60.0, most=50)))
    assert scaler.desired(2.0, seen([5000.0, 5000.0])) == 50
    quiet = [scaler.desired(now, seen([0.0, 0.0], held=50)) for now in (4.0, 62.0, 64.0)]
    assert quiet == [50, 50, 0]


def test_every_voice_is_told_in_the_reasons() -> None:
    scaler = LoadScaler(plan(table(Window(start_minute=0, end_minute=20, min=7))))
    sizing, floor = scaler.sized(60.0, seen([100.0, 100.0]))
    assert floor == 7
    assert {"load", "recent_rate", "window"} <= {reason.factor for reason in sizing.reasons}


def yesterday(minute: int) -> FloatArray:
    counts = np.zeros(1440)
    counts[minute : minute + 5] = 300_000.0
    return counts


def repeating(history: FloatArray) -> LoadScaler:
    forecaster = RepeatedPeaks(Smoothing(trend=False), ZoneInfo("UTC"))
    return LoadScaler(plan(table()), MinuteForecasts(forecaster, history, MIDNIGHT))


def test_what_happened_yesterday_is_ready_before_it_happens_again() -> None:
    scaler = repeating(yesterday(20))
    assert scaler.desired(5 * 60.0, IDLE) == 0
    wanted = scaler.desired(20 * 60.0 - 10.0, IDLE)
    assert wanted == 72
    sizing, _ = scaler.sized(20 * 60.0 - 8.0, IDLE)
    assert "forecast" in {reason.factor for reason in sizing.reasons}


def test_a_quiet_yesterday_promises_nothing() -> None:
    assert repeating(np.zeros(1440)).desired(1200.0, IDLE) == 0


def test_the_forecast_is_made_once_a_minute_from_the_minutes_that_are_over() -> None:
    coming = MinuteForecasts(Smoothing(trend=False), np.zeros(1440), MIDNIGHT)
    first = coming.at(0.0, np.zeros(0))
    assert coming.at(58.0, np.full(58, 10.0)) is first
    second = coming.at(60.0, np.full(60, 10.0))
    assert second.issued_at == MIDNIGHT + 60.0
    assert coming.history[-1] == 600.0
    assert second.mean[0] > first.mean[0]
