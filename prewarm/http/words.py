"""The words that bodies and queries of the API are made of: keys, times, counts, each with its bounds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

ID_PATTERN = r"^[0-9A-HJKMNP-TV-Z]{26}$"
KEY_PATTERN = r"^[^\s/%\x00-\x1f\x7f]{1,253}/[^\s/%\x00-\x1f\x7f]{1,253}$"


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
"""A whole number; 3.0 is one, as in JSON schema."""

MAX_EVENTS = 10_000
MAX_SERIES = 100
MAX_VALUES = 100_000
MAX_STEPS = 1_440
MAX_LIST = 1_000

Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
Time = Annotated[
    str,
    StringConstraints(max_length=40),
    Field(json_schema_extra={"format": "date-time"}),
]
PRINTABLE = r"^[^\x00-\x1f\x7f]+$"
"""One line without control characters: it is shown in terminals and kept in databases that take no NUL."""
Label = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)]
Finite = Annotated[float, Field(ge=0, le=1e12)]
Probability = Annotated[float, Field(gt=0, lt=1)]
CountIn = Annotated[Whole, Field(ge=0, le=100_000)]
SecondsIn = Annotated[float, Field(ge=0, le=86_400)]
Zone = Annotated[str, StringConstraints(min_length=1, max_length=64)]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=40)]
DataName = Literal["ok", "partial", "stale", "none"]


Share = Annotated[float, Field(ge=0, le=1)]
Namespace = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[^\s/%\x00-\x1f\x7f]+$")]
