"""The plain scalers of the request mode: what they keep, for how long, and when they want to be asked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.sim.cluster import simulate
from prewarm.sim.kpa import KpaScaler, KpaSettings
from prewarm.sim.requests import ClusterSettings
from prewarm.sim.scalers import ClairvoyantScaler, FloorScaler, KeepAliveScaler, Observation, needed_per_second
from tests.sim.made import Always, calls

IDLE = Observation(np.zeros(2), np.zeros(2), 0, 0, 1, 0)


def busy(in_system: int, *seconds: float) -> Observation:
    return Observation(np.array(seconds), np.array(seconds), in_system, 0, 1, 0)


def test_keep_alive_keeps_the_peak_and_then_the_lesser_peak() -> None:
    scaler = KeepAliveScaler(10, 600.0)
    assert scaler.wake_s(0.0) == math.inf
    assert scaler.desired(0.0, busy(35)) == 4
    assert scaler.desired(300.0, busy(12)) == 4
    assert scaler.wake_s(300.0) == 600.0
    assert scaler.desired(600.0, IDLE) == 2
    assert scaler.wake_s(600.0) == 900.0
    assert scaler.desired(900.0, IDLE) == 0


def test_keep_alive_sees_what_came_and_went_between_ticks() -> None:
    assert KeepAliveScaler(1, 60.0).desired(4.0, busy(0, 0.0, 0.3)) == 1


def test_an_instance_kept_ten_minutes_serves_the_next_call_warm() -> None:
    function = calls([0.5, 500.0, 1500.0])
    found = simulate([function], [KeepAliveScaler(1, 600.0)], ClusterSettings(2000.0), rng=np.random.default_rng(1))[0]
    assert found.wait_s.tolist() == pytest.approx([1.0, 0.0, 1.0])
    assert found.starts == 2


def test_the_clairvoyant_has_every_instance_ready_in_time() -> None:
    arrival = np.sort(10.0 + np.random.default_rng(4).random(200) * 80.0)
    needed = needed_per_second(arrival, np.full(200, 1.5), 2, 120)
    scaler = ClairvoyantScaler.of(needed, 4)
    found = simulate([calls(arrival, 1.5, limit=2)], [scaler], ClusterSettings(120.0), rng=np.random.default_rng(1))[0]
    assert found.wait_s.max() == 0.0


def test_the_clairvoyant_looks_ahead_no_further_than_told() -> None:
    scaler = ClairvoyantScaler.of(np.array([0, 0, 0, 0, 0, 2, 0, 0], dtype=np.int32), 3)
    assert [scaler.desired(float(now), IDLE) for now in range(10)] == [0, 0, 2, 2, 2, 2, 0, 0, 0, 0]
    assert [scaler.wake_s(now) for now in (0.0, 2.0, 6.0)] == [2.0, 6.0, math.inf]


def test_a_floor_lifts_the_rule_beneath_it_and_wakes_it() -> None:
    floor = FloorScaler.of(KpaScaler(KpaSettings()), np.array([0, 0, 3, 3, 0], dtype=np.int32))
    assert floor.wake_s(0.0) == 120.0
    assert floor.desired(119.0, IDLE) == 0
    assert floor.desired(120.0, IDLE) == 3
    assert floor.wake_s(120.0) == 240.0
    assert floor.desired(999.0, IDLE) == 0


def test_the_higher_of_floor_and_rule_wins() -> None:
    floor = FloorScaler.of(Always(2), np.array([1, 5], dtype=np.int32))
    assert [floor.desired(now, IDLE) for now in (0.0, 60.0)] == [2, 5]
    assert floor.wake_s(0.0) == 2.0


@given(
    moments=st.lists(st.floats(0, 20), min_size=1, max_size=30),
    service_s=st.floats(0.05, 4.0),
    limit=st.integers(1, 3),
)
def test_needed_is_the_peak_of_what_runs_in_each_second(moments: list[float], service_s: float, limit: int) -> None:
    arrival = np.sort(np.array(moments))
    needed = needed_per_second(arrival, np.full(len(arrival), service_s), limit, 30)
    for second in range(30):
        instants = np.concatenate([arrival[(arrival >= second) & (arrival < second + 1)], [float(second)]])
        running = [int(((arrival <= at) & (at < arrival + service_s)).sum()) for at in instants]
        ending = int((arrival + service_s == second).sum())  # counted as running until the second has begun
        assert math.ceil(max(running) / limit) <= needed[second] <= math.ceil((max(running) + ending) / limit)


def test_the_counts_of_an_observation() -> None:
    shown = Observation(np.zeros(1), np.zeros(1), 3, 3, 0, 0)
    assert shown.poked
    assert Observation(np.zeros(1), np.zeros(1), 3, 3, 1, 2).held == 3
    assert not IDLE.poked
