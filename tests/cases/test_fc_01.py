"""Reported: a seasonal model asked about ninety minutes failed until two whole days of history were there."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.domain import Forecast
from prewarm.forecast.stateless import answer, parse_request

# fmt: off
CHECKOUT = [
    10, 11, 12, 14, 14, 15, 16, 16, 16, 16, 15, 14, 14, 12, 11, 10, 9, 8, 6, 6, 5, 4, 4, 4, 4, 5, 6, 6, 8,
    9, 10, 11, 12, 14, 14, 15, 16, 16, 16, 16, 15, 14, 14, 12, 11, 10, 9, 8, 6, 6, 5, 4, 4, 4, 4, 5, 6, 6,
    8, 9, 10, 11, 12, 14, 14, 15, 16, 16, 16, 16, 15, 14, 14, 12, 11, 10, 9, 8, 6, 6, 5, 4, 4, 4, 4, 5, 6,
    6, 8, 9,
]
# fmt: on


def asked(model: str, **wishes: object) -> Forecast:
    series = {"id": "shop/checkout", "step_s": 60, "start": "2026-01-05T00:00:00Z", "values": CHECKOUT}
    body = {"series": [series], "steps": 60, "quantiles": [0.025, 0.5, 0.975], "model": model, **wishes}
    (forecast,) = answer(parse_request(body))
    return forecast


@pytest.mark.parametrize(
    ("model", "wishes"),
    [
        pytest.param("holt_winters", {"season_steps": 1440}, id="holt-winters"),
        pytest.param("sarima", {"season_steps": 1440}, id="sarima"),
        pytest.param("auto", {}, id="auto"),
    ],
)
def test_ninety_points_are_enough_for_a_forecast(model: str, wishes: dict[str, object]) -> None:
    forecast = asked(model, **wishes)
    assert forecast.mean.shape == (60,)
    assert np.isfinite(forecast.quantiles).all()
    assert (forecast.quantiles[:, 0] <= forecast.mean).all()
    assert (forecast.mean <= forecast.quantiles[:, 2]).all()
    assert forecast.quantiles.min() >= 0
    assert forecast.mean.min() >= 4
    assert forecast.mean.max() <= 16


@pytest.mark.parametrize("model", ["holt_winters", "sarima"])
def test_the_fallback_and_its_reason_are_named(model: str) -> None:
    forecast = asked(model, season_steps=1440)
    assert forecast.model == "smoothing"
    assert "history of 90 steps is shorter than two seasons of 1440" in forecast.reason
