"""Errors as `application/problem+json` (RFC 9457), each saying which field broke which rule.

Everything that a client can do wrong ends here: what pydantic found is put into one sentence that names the field, and
limits are told apart from mistakes (422 for something well formed that is too big, 400 for the rest).
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web
from pydantic import ValidationError

PROBLEM_JSON = "application/problem+json"

_LIMITS = {"less_than_equal", "less_than", "too_long", "string_too_long"}
_RULES = {
    "greater_than_equal": "must be {ge} or more",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be {le} or less",
    "less_than": "must be less than {lt}",
    "too_long": "must have at most {max_length} items, has {actual_length}",
    "too_short": "must have at least {min_length} items, has {actual_length}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "finite_number": "must be a finite number",
}
_WITHOUT_VALUE = {"missing", "extra_forbidden", "too_long", "too_short", "string_too_long", "json_invalid"}


class ProblemError(Exception):
    """An answer that is not a success; `detail` is one sentence for the person who sent the request."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def problem_response(problem: ProblemError, instance: str) -> web.Response:
    """The problem as a response for the request path `instance`."""
    body = {
        "type": "about:blank",
        "title": "Invalid request" if problem.status == 400 else HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "instance": instance,
    }
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", **problem.headers}
    return web.Response(status=problem.status, body=orjson.dumps(body), content_type=PROBLEM_JSON, headers=headers)


def problem_of(error: ValidationError) -> ProblemError:
    """The first fault as a problem: `events[3].count: must be 0 or more, is -2`."""
    first: dict[str, Any] = dict(error.errors(include_url=False)[0])
    kind = str(first["type"])
    place = field_path(first["loc"])
    if kind == "json_invalid":
        return ProblemError(400, f"body: is not JSON: {first['ctx']['error']}")
    text = f"{place or 'body'}: {_rule(kind, first)}"
    if kind not in _WITHOUT_VALUE:
        text += f", is {repr(first.get('input'))[:60]}"
    return ProblemError(422 if kind in _LIMITS else 400, text)


def field_path(place: tuple[int | str, ...]) -> str:
    """`("events", 3, "count")` as `events[3].count`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def _rule(kind: str, fault: Mapping[str, Any]) -> str:
    if kind == "missing":
        return "is required"
    if kind == "extra_forbidden":
        return "unknown field"
    if kind == "value_error":
        return str(fault["ctx"]["error"])
    known = _RULES.get(kind)
    if kind == "too_long" and fault["ctx"].get("actual_length") is None:  # pydantic stops counting some kinds early
        known = "must have at most {max_length} items"
    told = {name: f"{bound:g}" if isinstance(bound, float) else bound for name, bound in fault.get("ctx", {}).items()}
    return known.format(**told) if known else str(fault["msg"]).lower().replace("input should", "must")
