"""A forecast that is NaN, infinite or absent keeps what is there; a negative one is none; a good one is sized."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prewarm.policy.bounds import clamp, delay_fall
from prewarm.policy.replicas import ReplicaSpec, ReplicaState, size_replicas

CURRENT, MINIMUM, MAXIMUM = 4, 1, 10
THREE_CALLS_EACH = ReplicaSpec(duration_s=1.0, concurrency=3, utilisation=1.0)


def bounded(count: int) -> int:
    return int(clamp(*(np.array([value], dtype=np.int32) for value in (count, MINIMUM, MAXIMUM)))[0])


@pytest.mark.parametrize(
    ("forecast", "count", "held"),
    [
        pytest.param(math.nan, 4, "forecast invalid", id="nan"),
        pytest.param(math.inf, 4, "forecast invalid", id="infinity"),
        pytest.param(-math.inf, 4, "forecast invalid", id="minus-infinity"),
        pytest.param(None, 4, "forecast invalid", id="null"),
        pytest.param(-3.0, 1, None, id="negative-is-none"),
        pytest.param(12.4, 5, None, id="rounded-up"),
    ],
)
def test_each_forecast_on_its_own(forecast: float | None, count: int, held: str | None) -> None:
    sizing = size_replicas(forecast, ReplicaState(ready=CURRENT), THREE_CALLS_EACH)
    assert bounded(sizing.count) == count
    assert sizing.held == held


def test_the_fall_to_the_minimum_waits_for_the_usual_delay() -> None:
    target = np.array([bounded(size_replicas(-3.0, ReplicaState(CURRENT), THREE_CALLS_EACH).count)], dtype=np.int32)
    current = np.array([CURRENT], dtype=np.int32)
    delay = np.array([120.0])
    kept, since = delay_fall(target, current, np.array([np.nan]), delay_s=delay, now=1000.0)
    assert kept.tolist() == [4]
    fallen, _ = delay_fall(target, current, since, delay_s=delay, now=1120.0)
    assert fallen.tolist() == [1]
