"""Reported: flat series made models fail or flood the log with numeric warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from prewarm.domain import Forecast
from prewarm.forecast.stateless import answer, parse_request

MODELS = ("auto", "holt_winters", "arima", "croston")
SERIES = {
    "idle": [0] * 240,
    "constant": [7] * 300,
    "once": [0] * 100 + [2] + [0] * 139,
}


def asked(name: str, model: str) -> Forecast:
    series = {"id": name, "step_s": 60, "values": SERIES[name]}
    body = {"series": [series], "steps": 30, "quantiles": [0.025, 0.5, 0.975], "model": model}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (forecast,) = answer(parse_request(body))
    assert np.isfinite(forecast.mean).all()
    assert np.isfinite(forecast.quantiles).all()
    assert (forecast.quantiles[:, 0] <= forecast.mean).all()
    assert (forecast.mean <= forecast.quantiles[:, 2]).all()
    return forecast


@pytest.mark.parametrize("model", MODELS)
def test_an_idle_function_is_forecast_idle_and_needs_no_instance(model: str) -> None:
    forecast = asked("idle", model)
    assert not forecast.mean.any()
    assert not forecast.quantiles.any()
    assert not forecast.p_at_least.any()


@pytest.mark.parametrize("model", MODELS)
def test_a_constant_stays_what_it_is(model: str) -> None:
    np.testing.assert_allclose(asked("constant", model).mean, 7.0, atol=0.5)


@pytest.mark.parametrize("model", MODELS)
def test_one_call_long_ago_is_not_much(model: str) -> None:
    forecast = asked("once", model)
    assert forecast.mean.max() <= 0.5
