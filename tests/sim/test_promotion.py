"""The promotion: its calls, how absorbing it is judged, and the least that must be waited for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.sim.promotion import Promotion, absorption, floor_wait_s


@pytest.mark.parametrize("ramp_s", [0.0, 10.0, 60.0])
def test_calls_rise_along_the_ramp_and_stay_at_the_peak(ramp_s: float) -> None:
    promotion = Promotion(peak_per_s=1000.0, ramp_s=ramp_s, start_s=100.0, length_s=120.0)
    arrival = promotion.arrivals(np.random.default_rng(1))
    assert np.all(np.diff(arrival) >= 0)
    assert arrival[0] >= 100.0
    assert arrival[-1] < promotion.end_s
    per_second = np.bincount((arrival - 100.0).astype(int), minlength=120)
    middle = np.arange(120) + 0.5
    expected = 1000.0 * np.minimum(1.0, middle / ramp_s) if ramp_s else np.full(120, 1000.0)
    assert np.abs(per_second - expected).max() < 5 * np.sqrt(1000.0)


def test_the_counts_of_a_day() -> None:
    counts = Promotion().minute_counts(np.array([59.9, 60.0, 119.0, 86_399.0]))
    assert (counts[0], counts[1], counts[1439], counts.sum()) == (1, 2, 1, 4)


STEP = Promotion(peak_per_s=100.0, start_s=0.0, length_s=40.0)
ARRIVAL = np.arange(4000) / 100.0


def test_a_promotion_that_nobody_noticed_is_absorbed_at_once() -> None:
    found = absorption(STEP, ARRIVAL, np.zeros(4000), timeout_s=30.0)
    assert (found.absorb_s, found.fluctuation, found.success) == (0, 0.0, 1.0)
    assert found.steady_p95_s == pytest.approx(0.1)


def test_it_is_absorbed_when_the_last_slow_second_is_over() -> None:
    waits = np.where(ARRIVAL < 12.0, 1.0, 0.0)
    waits[(ARRIVAL >= 20.0) & (ARRIVAL < 21.0)] = 0.05
    assert absorption(STEP, ARRIVAL, waits, timeout_s=30.0).absorb_s == 21


def test_a_little_more_than_steady_is_fluctuation_not_failure() -> None:
    waits = np.where((ARRIVAL >= 5.0) & (ARRIVAL < 6.0), 0.01, 0.0)
    found = absorption(STEP, ARRIVAL, waits, timeout_s=30.0)
    assert found.absorb_s == 0
    assert found.fluctuation == pytest.approx(0.1)


def test_time_outs_put_absorbing_off() -> None:
    waits = np.zeros(4000)
    waits[700] = np.inf
    found = absorption(STEP, ARRIVAL, waits, timeout_s=30.0)
    assert found.absorb_s == 8
    assert found.success == pytest.approx(1 - 1 / 4000)


def test_what_never_settles_is_never_absorbed() -> None:
    waits = np.zeros(4000)
    waits[-50:] = np.inf
    found = absorption(STEP, ARRIVAL, waits, timeout_s=30.0)
    assert (found.absorb_s, found.fluctuation) == (None, None)


def test_calls_that_the_end_cut_off_are_left_out() -> None:
    waits = np.zeros(4000)
    waits[-50:] = np.nan
    assert absorption(STEP, ARRIVAL, waits, timeout_s=30.0).absorb_s == 0


def test_the_floor_of_a_constant_start_is_the_closed_form() -> None:
    promotion = Promotion(peak_per_s=5000.0, start_s=0.0)
    arrival = np.arange(60_000) / 5000.0
    found = floor_wait_s(arrival, promotion, start_s=np.array([2.3]), starts_per_s=20.0)
    closed = np.maximum(2.3 + np.sqrt(2 * np.arange(60_000) / (100.0 * 20.0)) - arrival, 0.0)
    assert np.abs(found - closed).max() < 0.02
    assert found[0] == pytest.approx(2.3, abs=0.01)


@settings(max_examples=20, deadline=None)
@given(start=st.floats(0.1, 5.0), faster=st.floats(1.0, 10.0), sooner=st.floats(0.1, 1.0))
def test_a_faster_control_plane_or_start_never_raises_the_floor(start: float, faster: float, sooner: float) -> None:
    promotion = Promotion(peak_per_s=500.0, start_s=0.0)
    arrival = np.arange(2000) / 500.0
    plain = floor_wait_s(arrival, promotion, start_s=np.array([start]), starts_per_s=2.0)
    quick = floor_wait_s(arrival, promotion, start_s=np.array([start * sooner]), starts_per_s=2.0 * faster)
    assert np.all(quick <= plain + 0.01)


def test_no_calls_have_no_floor() -> None:
    assert floor_wait_s(np.zeros(0), STEP, start_s=np.array([1.0]), starts_per_s=1.0).size == 0
