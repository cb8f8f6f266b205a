"""Strangers ask; every refusal names the field, every answer is a whole one."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prewarm.domain import DataState, InputError
from prewarm.forecast.stateless import MOST_VALUES, answer, checked_levels, forecast_json, parse_request, whole

SERIES: dict[str, Any] = {"id": "shop/cart", "step_s": 60, "start": "2026-01-05T00:00:00Z", "values": [0, 3, None, 1]}


def body(**changes: object) -> dict[str, object]:
    return {"series": [SERIES], "steps": 15, "quantiles": [0.5, 0.9, 0.99]} | changes


def series(**changes: object) -> dict[str, object]:
    return body(series=[{key: value for key, value in (SERIES | changes).items() if value != "absent"}])


def test_the_example_of_the_api_is_answered_in_its_shape() -> None:
    (forecast,) = answer(parse_request(body()))
    record = forecast_json(forecast)
    assert record["function"] == "shop/cart"
    assert record["issued_at"] == "2026-01-05T00:04:00Z"
    assert record["data"] == "partial"
    steps = record["steps"]
    assert isinstance(steps, list)
    assert len(steps) == 15
    assert list(steps[0]) == ["at", "mean", "quantiles", "p_at_least"]
    assert list(steps[0]["quantiles"]) == ["0.5", "0.9", "0.99"]
    assert list(steps[0]["p_at_least"]) == ["1", "2", "3", "4"]
    assert steps[1]["at"] == "2026-01-05T00:05:00Z"


def test_defaults_are_a_quarter_of_an_hour_by_the_automatic_choice() -> None:
    request = parse_request({"series": [{"values": [1, 2]}]})
    assert (request.model, request.steps, request.levels) == ("auto", 15, (0.5, 0.9, 0.99))
    assert request.series[0].name == "series[0]"


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        pytest.param([], "body: must be an object", id="no-object"),
        pytest.param(body(horizon=5), "body: unknown field 'horizon'", id="unknown-field"),
        pytest.param(body(steps=0), "steps: must be a whole number between 1 and 1440, is 0", id="steps-zero"),
        pytest.param(body(steps=-5), "steps: .* is -5", id="steps-negative"),
        pytest.param(body(steps=10_000_000), "steps: .* between 1 and 1440", id="steps-millions"),
        pytest.param(body(steps=1.5), "steps: ", id="steps-broken"),
        pytest.param(body(steps=True), "steps: ", id="steps-true"),
        pytest.param(body(steps=None), "steps: ", id="steps-null"),
        pytest.param(body(quantiles=[0.5, 1.0]), r"quantiles\[1\]: must be between 0 and 1", id="level-one"),
        pytest.param(body(quantiles=[0.5, 0.5]), r"quantiles\[1\]: 0.5 is given twice", id="level-twice"),
        pytest.param(body(quantiles=[]), "quantiles: must be a list of 1 to 20", id="no-level"),
        pytest.param(body(quantiles=["0.5"]), r"quantiles\[0\]: ", id="level-text"),
        pytest.param(body(quantiles=[math.nan]), r"quantiles\[0\]: .*not a finite number", id="level-nan"),
        pytest.param(body(model="oracle"), "model: must be one of", id="model"),
        pytest.param(body(zone="Nowhere"), "zone: is no time zone", id="zone"),
        pytest.param(body(trend="up"), "trend: must be add or mul", id="trend"),
        pytest.param(body(season_steps=0), "season_steps: ", id="season"),
        pytest.param({"steps": 5}, "series: must be a list of 1 to 100", id="no-series"),
        pytest.param(body(series=[]), "series: ", id="empty-series"),
        pytest.param(body(series=["x"]), r"series\[0\]: must be an object", id="series-text"),
        pytest.param(series(values="absent"), r"series\[0\].values: is required", id="no-values"),
        pytest.param(series(values=[1, "two", 3]), r"series\[0\].values\[1\]: .* is 'two'", id="text-in-values"),
        pytest.param(series(values=[1, math.nan]), r"series\[0\].values\[1\]: .*not a finite", id="nan-in-values"),
        pytest.param(series(values=[1, math.inf]), r"series\[0\].values\[1\]: ", id="inf-in-values"),
        pytest.param(series(values=[-1]), r"series\[0\].values\[0\]: ", id="negative"),
        pytest.param(series(values=[True]), r"series\[0\].values\[0\]: ", id="true-is-no-count"),
        pytest.param(series(values=5), r"series\[0\].values: must be a list", id="values-number"),
        pytest.param(series(step_s=0), r"series\[0\].step_s: ", id="step-zero"),
        pytest.param(series(start="noon"), r"series\[0\].start: must be an RFC 3339", id="start"),
        pytest.param(series(start="2026-01-05T00:00:00"), r"series\[0\].start: needs a zone", id="start-no-zone"),
        pytest.param(series(id=""), r"series\[0\].id: ", id="empty-id"),
        pytest.param(series(colour=1), r"series\[0\]: unknown field 'colour'", id="unknown-series-field"),
        pytest.param(series(values=[0] * (MOST_VALUES + 1)), f"at most {MOST_VALUES} values", id="too-long"),
    ],
)
def test_a_wrong_field_is_named(asked: object, named: str) -> None:
    with pytest.raises(InputError, match=named) as refused:
        parse_request(asked)
    assert "\n" not in str(refused.value)


def test_nothing_known_is_answered_by_the_prior_and_is_not_zero() -> None:
    for values in ([], [None, None]):
        (forecast,) = answer(parse_request(series(values=values)))
        assert forecast.model == "prior"
        assert forecast.data is DataState.NONE
        assert forecast.p_at_least[0, 0] > 0


def test_known_silence_is_zero() -> None:
    (forecast,) = answer(parse_request(series(values=[0] * 400)))
    assert not forecast.mean.any()
    assert not forecast.quantiles.any()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["series", "steps", "quantiles", "model", "zone", "trend", "season_steps"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(FIELDS, JSON, max_size=4) | JSON, st.booleans())
def test_whatever_is_sent_is_refused_in_one_line_or_answered_in_strict_json(asked: object, complete: bool) -> None:
    if complete and isinstance(asked, dict):
        asked = {**asked, "series": [SERIES]}
    try:
        request = parse_request(asked)
    except InputError as refused:
        assert len(str(refused).splitlines()) == 1
        return
    for forecast in answer(request):
        json.dumps(forecast_json(forecast), allow_nan=False)
        assert np.isfinite(forecast.mean).all()


def test_the_checks_of_single_fields() -> None:
    assert whole(5, "n", 1, 9) == 5
    assert checked_levels((0.1, 0.9)) == (0.1, 0.9)
    with pytest.raises(InputError, match="quantiles: must be a list of 1 to 20 levels, is a list of 21"):
        checked_levels([i / 100 for i in range(1, 22)])
