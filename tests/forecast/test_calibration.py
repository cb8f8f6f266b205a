"""A forecaster that is wrong in a steady way is put right by its own outcomes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.forecast.calibration import (
    AdaptiveLevel,
    Coverage,
    Isotonic,
    Logistic,
    Reliability,
    conformal_shifts,
    shifted,
)


def test_conformal_shifts_bring_biased_quantiles_to_their_coverage() -> None:
    rng = np.random.default_rng(1)
    levels = (0.05, 0.95)
    past, coming = rng.normal(10, 2, 2_000), rng.normal(10, 2, 4_000)
    said = np.array([9.5, 10.5])  # far too narrow
    shifts = conformal_shifts(past, np.tile(said, (2_000, 1)), levels)
    low, high = shifted(said, shifts, levels)
    share = ((coming >= low) & (coming <= high)).mean()
    assert share == pytest.approx(0.9, abs=0.02)


def test_without_outcomes_nothing_is_shifted() -> None:
    assert conformal_shifts(np.array([np.nan]), np.zeros((1, 2)), (0.1, 0.9)).tolist() == [0.0, 0.0]


def test_few_outcomes_shift_to_the_largest_miss_and_no_further() -> None:
    shifts = conformal_shifts(np.array([3.0, 5.0]), np.zeros((2, 1)), (0.99,))
    assert shifts.tolist() == [5.0]


def test_shifted_quantiles_stay_positive_and_in_order() -> None:
    moved = shifted(np.array([[5.0, 6.0, 1.0]]), np.array([4.0, -3.0, -9.0]), (0.5, 0.9, 0.1))
    assert moved.tolist() == [[9.0, 9.0, 0.0]]


def test_the_adaptive_level_follows_a_drift_until_coverage_is_right() -> None:
    """The spread doubles half-way; asking the first half's quantiles, coverage would stay near 0.7."""
    rng = np.random.default_rng(5)
    reference = np.sort(rng.normal(0, 1, 5_000))
    level = AdaptiveLevel.new(20, 0.9, gamma=0.005)
    below = []
    for t in range(2_500):
        actual = rng.normal(0, 1 if t < 500 else 1.8, 20)
        quantile = np.quantile(reference, level.asked)
        below.append((actual <= quantile).mean())
        level = level.after(actual, quantile)
    assert np.mean(below[1_500:]) == pytest.approx(0.9, abs=0.02)
    assert (level.asked > 0.93).all()


def test_unknown_outcomes_leave_the_adaptive_level_alone() -> None:
    level = AdaptiveLevel.new(2, 0.9).after(np.array([np.nan, 5.0]), np.array([1.0, 1.0]))
    assert level.asked[0] == pytest.approx(0.9)
    assert level.asked[1] > 0.9


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=60))
def test_an_isotonic_map_rises_and_keeps_the_mean(pairs: list[tuple[float, bool]]) -> None:
    chance, happened = np.array([p for p, _ in pairs]), np.array([b for _, b in pairs])
    fitted = Isotonic.fit(chance, happened)
    mapped = fitted(np.linspace(0, 1, 50))
    assert (np.diff(mapped) >= -1e-12).all()
    assert ((mapped >= 0) & (mapped <= 1)).all()
    if pairs:
        assert fitted(chance).mean() == pytest.approx(happened.mean(), abs=1e-9)


def test_an_isotonic_map_undoes_a_distortion() -> None:
    rng = np.random.default_rng(2)
    truth = rng.uniform(0, 1, 50_000)
    happened = rng.uniform(0, 1, 50_000) < truth
    mapped = Isotonic.fit(truth**2, happened)(np.array([0.04, 0.25, 0.64]))
    np.testing.assert_allclose(mapped, [0.2, 0.5, 0.8], atol=0.05)


def test_a_logistic_map_undoes_over_confidence() -> None:
    rng = np.random.default_rng(4)
    logit = rng.normal(0, 1, 20_000)
    happened = rng.uniform(0, 1, 20_000) < 1 / (1 + np.exp(-logit))
    fitted = Logistic.fit(1 / (1 + np.exp(-3 * logit)), happened)
    assert fitted.slope == pytest.approx(1 / 3, abs=0.03)
    assert fitted.offset == pytest.approx(0.0, abs=0.06)


def test_a_logistic_map_survives_one_class_only_and_never_turns_the_order() -> None:
    fitted = Logistic.fit(np.array([0.2, 0.8]), np.array([0.0, 0.0]))
    assert (fitted(np.array([0.0, 0.5, 1.0])) < 0.5).sum() >= 2
    turned = Logistic.fit(np.linspace(0.01, 0.99, 200), np.linspace(0.99, 0.01, 200) > 0.5)
    assert turned.slope == 0.0


def test_coverage_is_counted_as_outcomes_come() -> None:
    coverage = Coverage()
    assert math.isnan(coverage.share)
    coverage = coverage.after(np.array([1.0, 9.0, np.nan]), np.zeros(3), np.full(3, 2.0))
    coverage = coverage.after(np.array([2.0, 0.0]), np.zeros(2), np.full(2, 2.0))
    assert (coverage.seen, coverage.share) == (4, 0.75)


def test_reliability_is_the_distance_between_said_and_seen() -> None:
    table = Reliability()
    assert math.isnan(table.error)
    table.add(np.full(100, 0.8), np.r_[np.ones(60), np.zeros(40)])
    table.add(np.array([1.0, 0.3]), np.array([1.0, np.nan]))
    assert table.error == pytest.approx(20 / 101)
