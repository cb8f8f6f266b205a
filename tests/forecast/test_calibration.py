"""A forecaster that is wrong in a steady way is put right by its own outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.forecast.calibration import (
    Logistic,
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
