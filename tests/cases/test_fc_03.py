"""Reported: multiplicative seasons failed on data with zeros, or left a floor of one instance every night."""

from __future__ import annotations

import pytest

from prewarm.domain import Forecast
from prewarm.forecast.stateless import answer, parse_request

DAY = [0] * 7 + [4, 12, 24, 34, 40, 40, 38, 36, 30, 22, 14, 8, 4] + [0] * 4


@pytest.fixture(scope="module")
def forecast() -> Forecast:
    series = {"id": "lunch/orders", "step_s": 3_600, "start": "2026-01-05T00:00:00Z", "values": DAY * 10}
    wishes = {"model": "holt_winters", "season_steps": 24, "trend": "mul", "seasonal": "mul"}
    (found,) = answer(parse_request({"series": [series], "steps": 24, **wishes}))
    return found


def test_it_says_that_additive_was_used_because_of_zeros(forecast: Forecast) -> None:
    assert forecast.model == "holt_winters"
    assert "additive instead of multiplicative because the data holds zeros" in forecast.reason


def test_nights_are_empty_and_noons_are_full(forecast: Forecast) -> None:
    nights = [*range(6), 21, 22, 23]
    assert forecast.mean[nights].max() <= 2
    assert 28 <= forecast.mean[11] <= 52
    assert 28 <= forecast.mean[12] <= 52


def test_nothing_is_negative(forecast: Forecast) -> None:
    assert forecast.mean.min() >= 0
    assert forecast.quantiles.min() >= 0
