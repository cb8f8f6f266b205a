"""Documents that the service keeps for itself: what it was about to do when it was stopped.

They stand in the same table as what people set, but nobody changed anything, so there is no audit entry: a record is
rewritten several times within seconds and then dropped.
"""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Connection, delete

from prewarm.store.prepared import replace_row
from prewarm.store.schema import DOCUMENTS


def put_record(connection: Connection, kind: str, name: str, *, body: dict[str, Any], at: float) -> None:
    """Keep a record in place of its former state; read it by `documents`."""
    row = {"kind": kind, "name": name, "body": orjson.dumps(body).decode(), "updated_at": at}
    replace_row(connection, DOCUMENTS, row)


def drop_record(connection: Connection, kind: str, name: str) -> None:
    """Forget a record; nothing where there is none."""
    connection.execute(delete(DOCUMENTS).where((DOCUMENTS.c.kind == kind) & (DOCUMENTS.c.name == name)))
