"""Knative's autoscaler, a story a test: the clock is walked by hand and the load is what the story says."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.sim.kpa import KpaDecision, KpaScaler, KpaSettings, KpaState, decide
from prewarm.sim.scalers import Observation

TEN = KpaSettings(concurrency_limit=10)  # target 7 per instance


class Story:
    """Walks the clock in ticks; `load` is the mean number in the system of each second, `ready` follows by hand."""

    def __init__(self, settings: KpaSettings = TEN) -> None:
        self.settings = settings
        self.state = KpaState()
        self.seconds: list[float] = []
        self.ready = 0

    def tick(self, load: float, *, ready: int | None = None) -> KpaDecision:
        """Two more seconds of `load`, then a decision; the instances wanted are ready at once unless told otherwise."""
        self.seconds += [load, load]
        shown = np.array(self.seconds[-60:])
        observation = Observation(shown, shown, round(load), 0, self.ready, 0)
        decision, self.state = decide(self.settings, self.state, observation, float(len(self.seconds)))
        self.ready = decision.desired if ready is None else ready
        return decision

    def ticks(self, count: int, load: float) -> list[int]:
        """Several ticks of the same load; the numbers wanted."""
        return [self.tick(load).desired for _ in range(count)]


def test_nothing_comes_and_nothing_is_wanted() -> None:
    story = Story()
    assert story.ticks(5, 0.0) == [0] * 5
    assert story.state == KpaState()


def test_the_first_call_wants_one_instance_at_once() -> None:
    waiting = Observation(np.zeros(7), np.zeros(7), 1, 1, 0, 0)
    decision, state = decide(TEN, KpaState(), waiting, 7.3)
    assert decision.desired == 1
    assert decision.activator
    assert state.measuring_since_s == 7.3


def test_steady_load_settles_at_seventy_percent_of_the_limit() -> None:
    assert Story().ticks(40, 70.0)[-1] == 10
    assert Story(KpaSettings(100)).ticks(40, 70.0)[-1] == 1


def test_a_step_is_answered_by_the_mean_since_the_first_call_not_of_a_whole_window() -> None:
    assert Story().tick(500.0).desired == math.ceil(500 / 7)


def test_growth_is_limited_to_a_factor_in_one_step() -> None:
    story = Story(KpaSettings(10, max_up=3.0))
    assert story.ticks(4, 7000.0) == [3, 9, 27, 81]


def test_panic_when_the_short_window_asks_for_twice_what_is_ready() -> None:
    story = Story()
    story.ticks(40, 70.0)
    calm = story.tick(70.0)
    assert not calm.panicking
    # Three ticks at 200 fill the panic window of six seconds; the stable window has hardly noticed.
    panicked = [story.tick(200.0, ready=10) for _ in range(3)][-1]
    assert panicked.panicking
    assert panicked.desired == math.ceil(200 / 7)
    assert panicked.stable < 90


def test_in_panic_the_number_never_falls_and_after_a_stable_window_it_does() -> None:
    story = Story()
    story.ticks(40, 70.0)
    for _ in range(3):
        story.tick(200.0, ready=10)
    wanted = story.ticks(29, 7.0)
    assert min(wanted) == max(wanted) == math.ceil(200 / 7)
    later = story.ticks(10, 7.0)
    assert later[-1] < wanted[-1]


def test_a_fall_halves_at_most_in_one_step() -> None:
    story = Story()
    story.ticks(200, 700.0)
    found = [100, *story.ticks(60, 0.7)]
    assert all(after >= before // 2 for before, after in pairwise(found))
    assert found[-1] == 1


def test_the_last_instance_goes_after_a_quiet_window_and_the_grace_period() -> None:
    story = Story()
    story.ticks(10, 3.0)
    quiet = story.ticks(60, 0.0)
    # The load leaves the window of 60 s with the 30th quiet tick; 30 s of grace are fifteen ticks more.
    assert quiet[:44] == [1] * 44
    assert quiet[44:] == [0] * 16
    assert story.state == KpaState()


def test_a_call_during_the_grace_period_starts_it_anew() -> None:
    story = Story()
    story.ticks(10, 3.0)
    story.ticks(40, 0.0)
    story.tick(1.0)
    assert story.ticks(44, 0.0) == [1] * 44


def test_the_activator_stays_while_spare_capacity_is_below_the_burst() -> None:
    story = Story(KpaSettings(100))
    assert story.ticks(1, 70.0) == [1]
    assert story.tick(70.0, ready=4).activator  # 1 x 100 - 70 is less than 211
    assert not story.tick(70.0).activator  # 4 x 100 - 70 is more


@given(
    load=st.lists(st.floats(0, 1e5), min_size=1, max_size=60),
    ready=st.integers(0, 2000),
)
def test_what_is_wanted_stays_within_the_two_rates(load: list[float], ready: int) -> None:
    shown = np.array(load)
    observation = Observation(shown, shown, round(load[-1]), 0, ready, 0)
    decision, _ = decide(TEN, KpaState(), observation, 100.0)
    assert 0 <= decision.desired <= 1000 * max(1, ready)


def test_the_scaler_sleeps_at_rest_and_wakes_for_the_end_of_its_windows() -> None:
    scaler = KpaScaler(TEN)
    assert scaler.wake_s(0.0) == math.inf
    busy = Observation(np.array([0.5]), np.array([5.0]), 0, 0, 1, 0)
    assert scaler.desired(1.0, busy) == 1
    assert scaler.wake_s(1.0) == 61.0
    quiet = Observation(np.zeros(60), np.zeros(60), 0, 0, 1, 0)
    assert scaler.desired(62.0, quiet) == 1
    assert scaler.wake_s(62.0) == 92.0
    assert scaler.desired(92.0, quiet) == 0
    assert scaler.wake_s(92.0) == math.inf


def test_the_scaler_ticks_while_it_has_several() -> None:
    scaler = KpaScaler(TEN)
    busy = Observation(np.array([50.0, 50.0]), np.array([5.0, 5.0]), 50, 0, 1, 0)
    assert scaler.desired(2.0, busy) == 8
    assert scaler.wake_s(2.0) == 4.0


@pytest.mark.parametrize(("share", "seconds"), [(0.1, 6), (0.01, 1), (1.0, 60)])
def test_the_panic_window_is_a_share_of_the_stable_one(share: float, seconds: int) -> None:
    assert KpaSettings(panic_window_share=share).panic_window_s == seconds
