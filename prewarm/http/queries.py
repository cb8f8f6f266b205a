"""What the query strings of the API may hold: paging, searches, how far to look."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from prewarm.http.models import Strict
from prewarm.http.words import ID_PATTERN, MAX_LIST, MAX_STEPS, Key


class Cursor(Strict):
    """Paging of a list."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIST)] = 100
    cursor: Annotated[str, StringConstraints(max_length=600)] | None = None


class AuditQuery(Strict):
    """Paging of the audit, whose cursors are numbers."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIST)] = 100
    cursor: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,18}$")] | None = None


class FunctionQuery(Cursor):
    """Paging and search of functions."""

    search: Annotated[str, StringConstraints(max_length=200)] | None = None


class DecisionQuery(Strict):
    """Paging of decisions, whose cursors are their ids; of one function where it is named."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIST)] = 100
    cursor: Annotated[str, StringConstraints(pattern=ID_PATTERN)] | None = None
    function: Key | None = None


class ForecastQuery(Strict):
    """How far ahead."""

    steps: Annotated[int, Field(ge=1, le=MAX_STEPS)] = 15


class HistoryQuery(Strict):
    """How far back."""

    minutes: Annotated[int, Field(ge=1, le=1_440)] = 120
