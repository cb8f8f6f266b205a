"""The request-level cluster: queueing against a plain reference, starts, removal, memory, time-outs, counting."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.domain import FloatArray, InputError
from prewarm.sim.cluster import simulate
from prewarm.sim.kpa import KpaScaler, KpaSettings
from prewarm.sim.requests import ClusterSettings, Outcome, RequestFunction
from prewarm.sim.scalers import Observation, Scaler
from prewarm.sim.startup import ConstantStart, LogNormalStart
from tests.sim.made import Always, Once, Plan, calls


def run(
    functions: RequestFunction | list[RequestFunction],
    scalers: Scaler | list[Scaler],
    settings: ClusterSettings | None = None,
) -> list[Outcome]:
    """Simulate with one seed, two minutes unless told otherwise."""
    return simulate(
        functions if isinstance(functions, list) else [functions],
        scalers if isinstance(scalers, list) else [scalers],
        settings or ClusterSettings(120.0),
        rng=np.random.default_rng(1),
    )


def reference_waits(arrival: FloatArray, service: FloatArray, free_at: list[float]) -> list[float]:
    """First in, first out over slots that become free at these moments."""
    slots = list(free_at)
    heapq.heapify(slots)
    waits = []
    for came, lasts in zip(arrival, service, strict=True):
        start = max(came, heapq.heappop(slots))
        heapq.heappush(slots, start + lasts)
        waits.append(start - came)
    return waits


@settings(max_examples=30, deadline=None)
@given(
    gaps=st.lists(st.floats(0.0, 3.0), min_size=1, max_size=60),
    service=st.lists(st.floats(0.01, 5.0), min_size=60, max_size=60),
    instances=st.integers(1, 4),
    limit=st.integers(1, 3),
)
def test_waiting_is_that_of_a_first_in_first_out_queue(
    gaps: list[float], service: list[float], instances: int, limit: int
) -> None:
    arrival = np.cumsum(gaps)
    lasting = np.array(service[: len(gaps)])
    function = RequestFunction("a/b", arrival, lasting, limit, 0.1, ConstantStart(1.0))
    found = run(function, Always(instances), ClusterSettings(2000.0, timeout_s=1e9))[0]
    assert found.wait_s.tolist() == pytest.approx(reference_waits(arrival, lasting, [1.0] * (instances * limit)))
    assert found.used_s == pytest.approx(lasting.sum() / limit)
    assert found.held_s == pytest.approx(instances * 2000.0)


def test_a_call_that_finds_nothing_wakes_the_scaler_at_once() -> None:
    found = run(calls([7.3], limit=10), KpaScaler(KpaSettings(10)))[0]
    assert found.wait_s.tolist() == pytest.approx([1.0])
    assert found.timeline[1].tolist() == pytest.approx([7.3, 1, 0])
    assert found.timeline[2].tolist() == pytest.approx([8.3, 1, 1])


def test_starts_wait_for_the_control_plane() -> None:
    # Four instances wanted at 0, one start in two seconds: ready at 1, 3, 5, 7.
    found = run(calls([0.0] * 4, service_s=100.0), Always(4), ClusterSettings(60.0, starts_per_s=0.5))[0]
    assert found.wait_s.tolist() == pytest.approx([1.0, 3.0, 5.0, 7.0])
    assert found.starts == 4


def test_two_functions_share_the_start_rate() -> None:
    settings = ClusterSettings(60.0, starts_per_s=1.0)
    first, second = run([calls([0.0], key="a/a"), calls([0.0], key="a/b")], [Always(1), Always(1)], settings)
    assert (first.wait_s[0], second.wait_s[0]) == pytest.approx((1.0, 2.0))


def test_work_in_progress_ends_although_its_instance_is_removed() -> None:
    found = run(calls([5.0, 12.0], service_s=20.0), Plan([(0.0, 1), (10.0, 0), (30.0, 1)]))[0]
    assert found.wait_s[0] == 0.0
    assert found.wait_s[1] == pytest.approx(31.0 - 12.0)
    assert found.held_s == pytest.approx(10.0 + 90.0)


def test_instances_still_starting_are_cancelled_first() -> None:
    function = calls([3.0], start=ConstantStart(50.0))
    found = run(function, Plan([(0.0, 3), (2.0, 1)]), ClusterSettings(120.0, timeout_s=100.0))[0]
    assert found.wait_s.tolist() == pytest.approx([47.0])
    assert found.timeline[-1].tolist() == pytest.approx([50.0, 1, 1])


def test_a_call_that_waits_too_long_fails_and_leaves_the_queue() -> None:
    settings = ClusterSettings(120.0, timeout_s=5.0)
    found = run(calls([1.0, 2.0, 8.0], service_s=10.0), Plan([(0.0, 1)]), settings)[0]
    # The first runs 1 to 11; the second gives up at 7; the third begins at 11, having waited 3 s.
    assert found.wait_s.tolist() == pytest.approx([0.0, np.inf, 3.0])
    assert np.isinf(found.wait_s).sum() == 1


def test_what_the_end_cuts_off_is_unknown() -> None:
    found = run(calls([1.0, 2.0], service_s=500.0), Always(1), ClusterSettings(20.0, timeout_s=60.0))[0]
    assert found.wait_s[0] == 0.0
    assert np.isnan(found.wait_s[1])
    assert found.used_s == pytest.approx(19.0)


def test_failed_starts_take_their_time_and_are_tried_again() -> None:
    settings = ClusterSettings(4000.0, start_failure_share=0.5, timeout_s=4000.0)
    found = run(calls([0.0]), Always(1), settings)[0]
    assert found.starts == found.failed_starts + 1
    assert found.wait_s[0] == pytest.approx(1.0 + 2.0 * found.failed_starts)
    nothing = run(calls([0.0]), Always(1), ClusterSettings(100.0, start_failure_share=1.0))[0]
    assert np.isinf(nothing.wait_s).sum() == 1


def test_memory_makes_room_by_evicting_what_was_called_longest_ago() -> None:
    functions = [calls([1.5, 40.0], key="a/old"), calls([2.5], key="a/new"), calls([20.0], key="a/third")]
    scalers: list[Scaler] = [Once(), Once(), Plan([(10.0, 1)])]
    old, new, third = run(functions, scalers, ClusterSettings(30.0, memory_gb=0.5))
    assert (old.evicted, new.evicted) == (1, 0)
    assert third.starts == 1


def test_without_an_idle_instance_a_start_is_refused() -> None:
    functions = [calls([2.0], service_s=100.0, key="a/busy"), calls([5.0], key="a/late")]
    busy, late = run(functions, [Always(1), Plan([(4.0, 1)])], ClusterSettings(20.0, memory_gb=0.25))
    assert (busy.evicted, late.starts) == (0, 0)
    assert late.refused > 0


def test_all_scalers_see_the_same_draws() -> None:
    function = calls([0.0] * 3, service_s=50.0, start=LogNormalStart.of_mean_sd(2.3, 1.15))
    first, second = (run(function, Always(3))[0].wait_s.tolist() for _ in range(2))
    assert first == second
    assert len(set(first)) == 3


class Watching:
    """Wants one instance and remembers what it was shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, Observation]] = []

    def desired(self, now_s: float, observation: Observation) -> int:
        self.seen.append((now_s, observation))
        return 1

    def wake_s(self, now_s: float) -> float:
        return now_s + 2.0


def test_what_a_scaler_is_shown_is_what_happened() -> None:
    watching = Watching()
    # One instance from 0, ready at 1. Two calls at 2.5, each of 2 s: one runs 2.5-4.5, one waits and runs 4.5-6.5.
    run(calls([2.5, 2.5], service_s=2.0), watching, ClusterSettings(10.0))
    shown = dict(watching.seen)
    assert shown[4.0].concurrency.tolist() == pytest.approx([0.0, 0.0, 1.0, 2.0])
    assert shown[4.0].calls.tolist() == [0.0, 0.0, 2.0, 0.0]
    assert (shown[4.0].in_system, shown[4.0].waiting, shown[4.0].ready) == (2, 1, 1)
    assert shown[8.0].concurrency.tolist() == pytest.approx([0.0, 0.0, 1.0, 2.0, 1.5, 1.0, 0.5, 0.0])
    assert (shown[8.0].in_system, shown[0.0].held) == (0, 0)


def test_a_call_right_after_a_tick_does_not_stop_the_ticks() -> None:
    watching = Watching()
    run(calls([1e-12]), watching, ClusterSettings(20.0))
    assert [now for now, _ in watching.seen] == [2.0 * tick for tick in range(11)]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=80), st.floats(0.05, 4.0), st.integers(1, 5))
def test_the_measured_load_adds_up_to_the_time_spent(moments: list[float], service_s: float, limit: int) -> None:
    watching = Watching()
    function = calls(sorted(moments), service_s, limit=limit)
    found = run(function, watching, ClusterSettings(1000.0, timeout_s=1e6))[0]
    measured = {now: shown.concurrency[-2:].sum() for now, shown in watching.seen if now % 2 == 0}
    assert sum(measured.values()) == pytest.approx(float((found.wait_s + service_s).sum()), rel=1e-9)
    assert not np.isnan(found.wait_s).any()


def test_three_million_calls_take_seconds() -> None:
    arrival = np.sort(np.random.default_rng(2).random(3_000_000) * 600.0)
    function = RequestFunction("a/b", arrival, np.full(3_000_000, 0.1), 10, 0.25, ConstantStart(2.3))
    found = run(function, KpaScaler(KpaSettings(10)), ClusterSettings(610.0, starts_per_s=20.0))[0]
    assert not np.isnan(found.wait_s).any()
    assert np.isinf(found.wait_s).sum() == 0


@pytest.mark.parametrize(
    ("arrival", "limit", "why"),
    [pytest.param([2.0, 1.0], 1, "sorted", id="unsorted"), pytest.param([1.0], 0, "limit must be 1", id="no-limit")],
)
def test_work_that_cannot_be_is_refused(arrival: list[float], limit: int, why: str) -> None:
    with pytest.raises(InputError, match=why):
        calls(arrival, limit=limit)


def test_every_function_needs_a_scaler() -> None:
    with pytest.raises(InputError, match="1 functions need as many"):
        run([calls([0.0])], [])


def test_progress_is_told_and_grows() -> None:
    told: list[float] = []
    simulate([calls([0.0])], [Always(1)], ClusterSettings(100.0), rng=np.random.default_rng(1), progress=told.append)
    assert told == sorted(told)
    assert len(told) > 10
    assert told[-1] <= 1.0
