"""Sizing for load: what the rate needs, what a backlog adds, what is on its way, and what is no forecast at all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import DataState, Forecast, FunctionKey
from prewarm.policy.replicas import (
    FORECAST_INVALID,
    ReplicaSpec,
    ReplicaState,
    lead_time_s,
    rate_over_lead,
    size_replicas,
)

PROMOTION = ReplicaSpec(duration_s=0.1, concurrency=10, lead_s=4.5, drain_s=2.0)


@pytest.mark.parametrize(
    ("concurrency", "count"), [pytest.param(10, 72, id="limit-10"), pytest.param(100, 8, id="limit-100")]
)
def test_five_thousand_calls_a_second_of_a_tenth_of_a_second(concurrency: int, count: int) -> None:
    spec = ReplicaSpec(duration_s=0.1, concurrency=concurrency)
    assert size_replicas(5000.0, ReplicaState(0), spec).count == count


def test_no_calls_and_no_backlog_need_nothing() -> None:
    sizing = size_replicas(0.0, ReplicaState(3), PROMOTION)
    assert sizing.count == 0
    assert sizing.held is None


def test_a_backlog_asks_for_what_clears_it_once_new_instances_are_ready() -> None:
    # 10,000 wait now; at 5,000 a second with nothing ready, 22,500 more come in the 4.5 s of the start.
    sizing = size_replicas(5000.0, ReplicaState(0, waiting=10_000), PROMOTION)
    assert sizing.count == math.ceil((5000 + 32_500 / 4.5) / 100)
    assert [reason.factor for reason in sizing.reasons] == ["load", "drain_s", "backlog"]


def test_a_backlog_that_is_gone_before_help_could_come_asks_for_nothing() -> None:
    slow = ReplicaSpec(duration_s=0.1, concurrency=10, lead_s=60.0)
    assert size_replicas(100.0, ReplicaState(2, waiting=200), slow).count == 2


def test_instances_that_do_not_keep_up_are_said_to() -> None:
    spec = ReplicaSpec(duration_s=0.1, concurrency=10, utilisation=1.0, lead_s=1e9)
    sizing = size_replicas(100.0, ReplicaState(1, waiting=1), spec)
    assert "do not keep up" in sizing.reasons[1].text


@pytest.mark.parametrize("rate", [None, math.nan, math.inf, -math.inf])
def test_what_is_no_number_keeps_what_is_there(rate: float | None) -> None:
    sizing = size_replicas(rate, ReplicaState(3, starting=1), PROMOTION)
    assert sizing.count == 4
    assert sizing.held == FORECAST_INVALID
    assert "kept 4" in sizing.reasons[0].text


@given(
    rate=st.floats(-1e6, 1e6) | st.sampled_from([None, math.nan, math.inf, -math.inf]),
    ready=st.integers(0, 1000),
    starting=st.integers(0, 1000),
    waiting=st.integers(0, 100_000),
)
def test_the_count_is_never_negative_and_always_explained(
    rate: float | None, ready: int, starting: int, waiting: int
) -> None:
    sizing = size_replicas(rate, ReplicaState(ready, starting, waiting), PROMOTION)
    assert sizing.count >= 0
    assert sizing.reasons


@given(rate=st.floats(0, 1e5), more=st.floats(0, 1e5), waiting=st.integers(0, 10_000), queued=st.integers(0, 10_000))
def test_more_work_never_asks_for_fewer(rate: float, more: float, waiting: int, queued: int) -> None:
    less = size_replicas(rate, ReplicaState(5, 0, waiting), PROMOTION).count
    assert size_replicas(rate + more, ReplicaState(5, 0, waiting + queued), PROMOTION).count >= less


@given(rate=st.floats(0, 1e5))
def test_the_load_fits_into_the_count_and_would_not_into_one_less(rate: float) -> None:
    count = size_replicas(rate, ReplicaState(0), PROMOTION).count
    assert rate * 0.1 <= count * 7.0 * (1 + 1e-6) + 1e-6
    assert count == 0 or rate * 0.1 > (count - 1) * 7.0


def forecast(quantiles: list[list[float]]) -> Forecast:
    values = np.asarray(quantiles)
    return Forecast(
        FunctionKey("shop/checkout"),
        1000.0,
        60,
        "calendar",
        "",
        DataState.OK,
        (0.5, 0.9),
        values[:, 0],
        values,
        np.zeros((len(values), 1)),
    )


@pytest.mark.parametrize(
    ("level", "lead_s", "now", "rate"),
    [
        pytest.param(0.9, 30.0, 1000.0, 2.0, id="within-the-first-step"),
        pytest.param(0.9, 30.0, 1031.0, 10.0, id="touches-the-second"),
        pytest.param(0.5, 200.0, 1000.0, 5.0, id="all-steps-median"),
        pytest.param(0.99, 0.0, 1061.0, 10.0, id="highest-level-where-none-is-above"),
        pytest.param(0.9, 10.0, 990.0, 2.0, id="just-before-it-was-issued"),
    ],
)
def test_the_rate_is_the_highest_over_the_lead_time(level: float, lead_s: float, now: float, rate: float) -> None:
    steps = forecast([[60.0, 120.0], [300.0, 600.0], [0.0, 0.0]])
    assert rate_over_lead(steps, level=level, lead_s=lead_s, now=now) == rate


def test_a_forecast_that_ended_gives_no_rate() -> None:
    assert math.isnan(rate_over_lead(forecast([[60.0, 120.0]]), level=0.9, lead_s=5.0, now=1060.0))


@pytest.mark.parametrize(("cap", "lead_s"), [pytest.param(None, 4.5, id="free"), pytest.param(2.0, 40.5, id="capped")])
def test_the_lead_time_contains_the_queue_at_the_control_plane(cap: float | None, lead_s: float) -> None:
    assert lead_time_s(4.5, 72, cap) == lead_s
