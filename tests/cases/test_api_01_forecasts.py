"""Reported: a NaN, a horizon of ten million or a text among the values took the forecast endpoint down.

These are the rules of the function behind it; the endpoint's own test sends the bodies over HTTP.
"""

from __future__ import annotations

import json
import time

import orjson
import pytest

from prewarm.domain import InputError
from prewarm.forecast.stateless import answer, forecast_json, parse_request


def sent(text: str) -> str:
    """What a client reads for a raw body; the server's JSON parser is strict."""
    forecasts = answer(parse_request(orjson.loads(text)))
    return json.dumps([forecast_json(forecast) for forecast in forecasts], allow_nan=False)


def body(values: str, steps: str = "5") -> str:
    return f'{{"series": [{{"id": "shop/cart", "step_s": 60, "values": {values}}}], "steps": {steps}}}'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(body("[1,null,3,4,5,6,7,8]"), id="null-in-values"),
        pytest.param(body("[]"), id="empty-values"),
    ],
)
def test_what_can_be_answered_is_answered_in_strict_json_within_a_second(text: str) -> None:
    began = time.monotonic()
    (forecast,) = json.loads(sent(text))
    assert time.monotonic() - began < 1
    assert len(forecast["steps"]) == 5


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param(body("[1,2,3]", "0"), "steps: ", id="horizon-0"),
        pytest.param(body("[1,2,3]", "-5"), "steps: ", id="horizon-minus-5"),
        pytest.param(body("[1,2,3]", "10000000"), "between 1 and 1440", id="horizon-10-million"),
        pytest.param(body('[1,"two",3]'), r"series\[0\].values\[1\]: ", id="text-in-values"),
        pytest.param('{"series": [{"id": "no/such"}], "steps": 5}', r"series\[0\].values: is required", id="no-values"),
    ],
)
def test_what_is_wrong_is_named(text: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        sent(text)


def test_a_bare_nan_is_no_json() -> None:
    with pytest.raises(orjson.JSONDecodeError):
        sent(body("[1,NaN,3]"))
