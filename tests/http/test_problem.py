"""What pydantic finds becomes one sentence with the field's place; limits are told apart from mistakes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from prewarm.http.models import ForecastRequest, InvocationBatch, Modes, OverrideIn, PolicyIn
from prewarm.http.problem import ProblemError, field_path, problem_of, problem_response

SERIES = {"id": "a", "values": [1.0]}
EVENT = {"function": "a/b", "at": "2026-11-30T10:00:00Z", "count": 1}
BATCH = {"source": "g", "sequence": 1, "events": [EVENT]}
PIN = {"action": "pin", "value": 1, "owner": "me", "reason": "x", "expires_at": None}


@pytest.mark.parametrize(
    ("model", "body", "status", "detail"),
    [
        (InvocationBatch, {**BATCH, "sequence": -1}, 400, "sequence: must be 0 or more, is -1"),
        (InvocationBatch, {**BATCH, "sequence": "1"}, 400, "sequence: must be a valid integer, is '1'"),
        (InvocationBatch, {**BATCH, "sequence": 1.5}, 400, "sequence: must be a valid integer, is 1.5"),
        (InvocationBatch, {**BATCH, "events": [{**EVENT, "function": "ab"}]}, 400, "events[0].function: must match"),
        (
            InvocationBatch,
            {**BATCH, "events": [{**EVENT, "function": "a/\x00"}]},
            400,
            "events[0].function: must match",
        ),
        (InvocationBatch, {"source": "g", "events": []}, 400, "sequence: is required"),
        (InvocationBatch, {**BATCH, "events": [EVENT] * 10_001}, 422, "events: must have at most 10000 items, has"),
        (ForecastRequest, {"series": [SERIES], "steps": 1_441}, 422, "steps: must be 1440 or less, is 1441"),
        (ForecastRequest, {"series": [], "steps": 1}, 400, "series: must have at least 1 items, has 0"),
        (ForecastRequest, {"series": [SERIES], "quantiles": [1.0]}, 422, "quantiles[0]: must be less than 1, is 1.0"),
        (ForecastRequest, {"series": [SERIES], "quantiles": [0.0]}, 400, "quantiles[0]: must be more than 0, is 0.0"),
        (Modes, {"default": "on"}, 400, "default: must be one of 'shadow', 'active' or 'paused', is 'on'"),
        (Modes, {"default": "active", "learned_share": {"shop": 2}}, 422, "learned_share.shop: must be 1 or less"),
        (OverrideIn, {**PIN, "reason": "x" * 1_001}, 422, "reason: must have at most 1000 characters"),
        (PolicyIn, {"windows": [{"days": [7]}]}, 422, "windows[0].days[0]: must be 6 or less, is 7"),
    ],
)
def test_each_fault_is_one_sentence(model: type[BaseModel], body: dict[str, Any], status: int, detail: str) -> None:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(body)
    problem = problem_of(raised.value)
    assert problem.status == status
    assert problem.detail.startswith(detail)
    assert "\n" not in problem.detail


@pytest.mark.parametrize("number", [3, 3.0])
def test_a_whole_number_may_be_written_with_a_point(number: float) -> None:
    assert InvocationBatch.model_validate({**BATCH, "sequence": number}).sequence == 3


def test_places_read_like_code() -> None:
    assert field_path(("events", 3, "count")) == "events[3].count"
    assert field_path(("series", 0, "values", 1)) == "series[0].values[1]"
    assert field_path(()) == ""


def test_a_problem_names_itself_and_its_path() -> None:
    answer = problem_response(ProblemError(503, "busy", headers={"Retry-After": "2"}), "/v1/mode")
    assert (answer.status, answer.content_type) == (503, "application/problem+json")
    assert answer.headers["Retry-After"] == "2"
    assert answer.headers["Cache-Control"] == "no-store"
    assert isinstance(answer.body, bytes)
    assert b'"title":"Service Unavailable"' in answer.body
