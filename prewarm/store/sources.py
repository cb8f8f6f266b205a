"""Which functions each source of counts has named, so that a restart does not take another source's silence for zero.

A source that sends a minute speaks for all that it ever named, and for what nobody else named (`collect.push`). Were
that forgotten, the first source to send after a restart would speak for all functions, and those of a source that is
silent would be read as not called. A source that was not heard for `SILENT_S` is gone and speaks for nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from prewarm.store.schema import INGESTS, SPOKEN

SILENT_S = 86_400.0

Spoken = Mapping[str, frozenset[int]]
"""Rows of the functions that each source named."""


def add_spoken(connection: Connection, source: str, rows: Collection[int]) -> None:
    """Note that `source` named these rows; those that are there already stay."""
    if rows:
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        pairs = [{"source": source, "row": row} for row in sorted(rows)]
        connection.execute(dialect.insert(SPOKEN).on_conflict_do_nothing(), pairs)


def spoken_since(connection: Connection, since: float) -> dict[str, frozenset[int]]:
    """What the sources that sent something at `since` (s) or later have named."""
    heard = select(INGESTS.c.source).where(INGESTS.c.at >= since)
    found: dict[str, set[int]] = {}
    for source, row in connection.execute(select(SPOKEN).where(SPOKEN.c.source.in_(heard))):
        found.setdefault(source, set()).add(row)
    return {source: frozenset(rows) for source, rows in found.items()}


def drop_spoken(connection: Connection) -> None:
    """Forget the sources of which no batch is remembered any more."""
    connection.execute(delete(SPOKEN).where(SPOKEN.c.source.not_in(select(INGESTS.c.source))))
