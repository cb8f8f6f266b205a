"""Croston's family against its recursion written out, against statsforecast, and on histories that mislead it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prewarm.domain import FloatArray
from prewarm.forecast.local.intermittent import ALPHA, SBA, Intermittent, croston, tsb
from tests.forecast.made import LEVELS, batch_of, every

COUNTS = arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(0, 40)), elements=st.integers(0, 3).map(float))


def recursion(values: FloatArray) -> tuple[float, float]:
    """Croston (1972) by the book: smoothed size and interval, both started at the first call."""
    size, interval, waited, calls = 0.0, 1.0, 0, 0
    for value in values:
        if np.isnan(value):
            continue
        waited += 1
        if value > 0:
            weight = ALPHA if calls else 1.0
            size += weight * (value - size)
            interval += weight * (waited - interval)
            waited, calls = 0, calls + 1
    return size, interval


@given(COUNTS)
def test_the_closed_form_is_crostons_recursion(values: FloatArray) -> None:
    state = croston(values)
    for row, counts in enumerate(values):
        size, interval = recursion(counts)
        assert state.size[row] == pytest.approx(size)
        assert state.interval[row] == pytest.approx(interval)


@given(COUNTS)
def test_unknown_steps_are_passed_over(values: FloatArray) -> None:
    gaps = np.repeat(values, 2, axis=1)
    gaps[:, ::2] = np.nan
    for plain, holed in zip((*tsb(values), croston(values).rate), (*tsb(gaps), croston(gaps).rate), strict=True):
        np.testing.assert_allclose(plain, holed)


def test_the_same_figures_as_statsforecast() -> None:
    models = pytest.importorskip("statsforecast.models")
    rng = np.random.default_rng(8)
    values: FloatArray = rng.poisson(2.0, (6, 300)).astype(np.float64) * (rng.uniform(size=(6, 300)) < 0.2)
    state = croston(values)
    chance, size = tsb(values)
    for row, counts in enumerate(values):
        theirs = models.CrostonClassic().forecast(y=counts, h=1)["mean"][0]
        assert state.rate[row] == pytest.approx(theirs, rel=1e-5)
        theirs = models.CrostonSBA().forecast(y=counts, h=1)["mean"][0]
        assert state.rate[row] * SBA == pytest.approx(theirs, rel=1e-5)
        theirs = models.TSB(alpha_d=ALPHA, alpha_p=ALPHA).forecast(y=counts, h=1)["mean"][0]
        assert chance[row] * size[row] == pytest.approx(theirs, rel=1e-5)


def test_a_steady_timer_is_its_rate_and_its_size() -> None:
    answer = Intermittent("croston").predict(batch_of(every(10, 300, phase=9, size=3.0)), 4, LEVELS)
    np.testing.assert_allclose(answer.mean, 0.3, rtol=1e-6)
    np.testing.assert_allclose(answer.p_at_least[0, 0], [0.1, 0.1, 0.1, 0.0])
    assert answer.reasons == ("30 calls, one every 10.0 steps",)


def test_the_syntetos_boylan_correction_lowers_the_rate() -> None:
    batch = batch_of(every(10, 300, phase=9))
    plain, corrected = (Intermittent(m).predict(batch, 1, LEVELS).mean.item() for m in ("croston", "sba"))
    assert corrected == pytest.approx(0.95 * plain)


def test_a_function_called_once_long_ago_is_not_expected_every_step() -> None:
    once = np.zeros(500)
    once[0] = 2.0
    answer = Intermittent("croston").predict(batch_of(once), 1, LEVELS)
    assert answer.mean.item() == pytest.approx(2 / 499)


def test_tsb_forgets_a_function_that_fell_silent_and_croston_does_not() -> None:
    silent = np.r_[np.ones(100), np.zeros(100)]
    assert Intermittent("tsb").predict(batch_of(silent), 1, LEVELS).mean.item() < 1e-4
    assert croston(silent[None, :]).rate.item() == 1.0


def test_a_function_never_called_is_silent_and_says_so() -> None:
    for method in ("croston", "sba", "tsb"):
        answer = Intermittent(method).predict(batch_of(np.zeros(50)), 3, LEVELS)
        assert not answer.mean.any()
        assert not answer.p_at_least.any()
        assert answer.reasons == ("never called",)
