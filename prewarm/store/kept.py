"""One connection that is kept from use to use, and another in its place once it was let go."""

from __future__ import annotations

from sqlalchemy import Connection, Engine


class KeptConnection:
    """Of one engine; its one user sees to it that it is used by one thread at a time."""

    def __init__(self, engine: Engine, *, autocommit: bool = False) -> None:
        self._engine = engine
        self._autocommit = autocommit
        self._connection: Connection | None = None

    @property
    def used(self) -> bool:
        """Whether it was used before, and may have been lost since."""
        return self._connection is not None

    def get(self) -> Connection:
        """The connection; it is opened where there is none."""
        if self._connection is None:
            made = self._engine.connect()
            self._connection = made.execution_options(isolation_level="AUTOCOMMIT") if self._autocommit else made
        return self._connection

    def let_go(self) -> None:
        """Give it back, whatever state it is in; the next use takes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
