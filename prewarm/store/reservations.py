"""Room that placements were promised, so that a restart does not promise it a second time.

A row is what was promised when it was decided; what of it has been seen taken since is for the reader to find out. Rows
go when their decision is cancelled, when a newer one about the same workload takes their place, or when they are over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, delete, insert, select

from prewarm.store.prepared import Prepared
from prewarm.store.schema import RESERVATIONS


@dataclass(frozen=True, slots=True)
class Reservation:
    """Instances promised to a workload in a cluster until a time (s). `base`: those that were there already.

    shape: what one instance takes, as JSON values.
    """

    decision: str
    cluster: str
    workload: str
    instances: int
    base: int
    shape: dict[str, Any]
    until: float
    priority: int


_OVER = Prepared(
    any=delete(RESERVATIONS).where(
        (RESERVATIONS.c.until <= bindparam("now")) | (RESERVATIONS.c.workload == bindparam("one"))
    )
)
_KEEP = Prepared(any=insert(RESERVATIONS))
_COLUMNS = tuple(column.name for column in RESERVATIONS.columns)


def put_reservations(connection: Connection, workload: str, rows: Sequence[Reservation], now: float) -> None:
    """Keep what the newest decision about a workload was promised, in place of all before it; forget what is over."""
    _OVER.run(connection, [{"now": now, "one": workload}])
    if rows:
        _KEEP.run(connection, list(map(_values, rows)))


def _values(one: Reservation) -> dict[str, Any]:
    return {name: getattr(one, name) for name in _COLUMNS} | {"shape": orjson.dumps(one.shape).decode()}


def drop_reservations(connection: Connection, decisions: Sequence[str]) -> None:
    """Forget what these decisions were promised."""
    connection.execute(delete(RESERVATIONS).where(RESERVATIONS.c.decision.in_(decisions)))


def reservations(connection: Connection, now: float) -> tuple[Reservation, ...]:
    """What is not over yet, in the order in which it was decided."""
    query = select(RESERVATIONS).where(RESERVATIONS.c.until > now)
    rows = connection.execute(query.order_by(RESERVATIONS.c.decision, RESERVATIONS.c.cluster))
    return tuple(Reservation(**{**row._mapping, "shape": orjson.loads(row.shape)}) for row in rows)  # noqa: SLF001
