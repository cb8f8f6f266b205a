"""Statements in the words of the database's driver, made once: what is written with every placement goes this way.

The one thread that writes shares the interpreter with decisions, and making ready a statement that has been made ready
a thousand times took more of it than the database did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ClauseElement, Connection, Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite


class Prepared:
    """A statement whose parameters are all named, by dialect; its values go to the driver as they are."""

    def __init__(self, **by_dialect: ClauseElement) -> None:
        """`any` stands for the dialects that are not named."""
        self._by_dialect = by_dialect
        self._texts: dict[str, tuple[str, tuple[str, ...] | None]] = {}

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """The statement with each of some rows, at least one."""
        text, places = self._texts.get(connection.dialect.name) or self.made(connection.dialect)
        given = rows if places is None else [tuple([row[name] for name in places]) for row in rows]
        connection.exec_driver_sql(text, given[0] if len(given) == 1 else given)

    def made(self, dialect: Dialect) -> tuple[str, tuple[str, ...] | None]:
        """Its text, and its parameters in their order where the driver takes them by place."""
        chosen = dialect.name if dialect.name in self._by_dialect else "any"
        compiled = self._by_dialect[chosen].compile(dialect=dialect)
        places = getattr(compiled, "positiontup", None)
        made = self._texts[dialect.name] = str(compiled), None if places is None else tuple(places)
        return made


def replace_row(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Write a row in place of the one with its primary key, in one statement: another service may write it as well."""
    keys = [column.name for column in table.primary_key]
    made = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table).values(**row)
    others = {name: made.excluded[name] for name in row if name not in keys}
    connection.execute(made.on_conflict_do_update(index_elements=keys, set_=others))
