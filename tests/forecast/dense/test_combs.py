"""Timers that wander through the hour are found by folding."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.forecast.dense.combs import COMBS, LONGEST, SHORTEST, comb_periods


@pytest.mark.parametrize("period", [11, 37, 133])
def test_a_timer_among_noise_is_found(period: int) -> None:
    rng = np.random.default_rng(period)
    residual = rng.normal(0, 1, 5 * 1440)
    residual[::period] += 3.0
    first = comb_periods(residual)[0]
    assert first % period == 0


def test_two_timers_are_found_one_after_the_other() -> None:
    rng = np.random.default_rng(1)
    residual = rng.normal(0, 0.5, 5 * 1440)
    residual[::23] += 6.0
    residual[5::37] += 4.0
    found = comb_periods(residual)
    assert found[0] % 23 == 0
    assert found[1] % 37 == 0


def test_two_short_timers_are_found_as_the_period_after_which_both_repeat() -> None:
    residual = np.random.default_rng(1).normal(0, 0.5, 5 * 1440)
    residual[::13] += 4.0
    residual[5::17] += 3.0
    assert comb_periods(residual)[0] == 13 * 17


def test_noise_gives_periods_within_the_range() -> None:
    found = comb_periods(np.random.default_rng(2).normal(0, 1, 4 * 1440))
    assert len(found) == COMBS
    assert all(SHORTEST <= period <= LONGEST for period in found)


def test_less_than_two_days_are_not_folded() -> None:
    assert comb_periods(np.ones(2 * 1440 - 1)) == ()


def test_a_flat_residual_breaks_nothing() -> None:
    assert len(comb_periods(np.zeros(3 * 1440))) == COMBS
