"""Reported: a sale that ran out was forecast below zero, and an autoscaler read it as 9.2e18 instances."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.forecast.metrics import Costs
from prewarm.forecast.stateless import answer, parse_request

CLOSING_SALE = list(range(100, -1, -2))


@pytest.mark.parametrize("model", ["auto", "holt_winters", "arima", "smoothing"])
def test_a_fall_to_zero_stays_there_and_needs_no_instance(model: str) -> None:
    series = {"id": "closing/sale", "step_s": 60, "start": "2026-01-05T00:00:00Z", "values": CLOSING_SALE}
    body = {"series": [series], "steps": 60, "quantiles": [0.025, 0.5, 0.975], "model": model}
    (forecast,) = answer(parse_request(body))
    assert forecast.mean.min() >= 0
    assert forecast.quantiles.min() >= 0
    assert (np.diff(forecast.mean) <= 1e-9).all()
    assert forecast.mean[-1] < 0.5
    assert forecast.quantiles.max() < 100
    worth_it_from = 1 - Costs().level
    assert (forecast.p_at_least[:, 0] <= worth_it_from).all()  # so that none is kept warm
