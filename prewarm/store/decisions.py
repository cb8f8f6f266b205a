"""Decisions on disk: columns for what is searched, JSON for what explains; pages by id, which sorts by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Row, bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from prewarm.domain import Decision, FunctionKey, Mode, PolicyTag, Reason
from prewarm.store.details import read_detail
from prewarm.store.prepared import Prepared
from prewarm.store.schema import DECISIONS


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """Decisions, newest first; `next` is the cursor of the following page, None at the end."""

    decisions: tuple[Decision, ...]
    next: str | None


def add_decisions(connection: Connection, decisions: Sequence[Decision]) -> None:
    """Write decisions; an id that is there already stays as it is."""
    add_rows(connection, [row_of(one) for one in decisions])


def add_rows(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """The same, of decisions that were made rows of elsewhere."""
    if rows:
        _ADD.run(connection, rows)


_ADD = Prepared(
    postgresql=postgresql.insert(DECISIONS).on_conflict_do_nothing(),
    sqlite=sqlite.insert(DECISIONS).on_conflict_do_nothing(),
)


def mark_applied(connection: Connection, ids: Sequence[str]) -> None:
    """Note that these decisions were carried out."""
    if ids:
        statement = update(DECISIONS).where(DECISIONS.c.id == bindparam("one")).values(applied=True)
        connection.execute(statement, [{"one": one} for one in ids])


def page_decisions(
    connection: Connection, *, limit: int, cursor: str | None = None, function: str | None = None
) -> DecisionPage:
    """At most `limit` decisions older than `cursor` (an id), of one function if named."""
    query = select(DECISIONS).order_by(DECISIONS.c.id.desc()).limit(limit + 1)
    if cursor is not None:
        query = query.where(DECISIONS.c.id < cursor)
    if function is not None:
        query = query.where(DECISIONS.c.function == function)
    rows = connection.execute(query).all()
    found = tuple(_from_row(row) for row in rows[:limit])
    return DecisionPage(found, found[-1].id if len(rows) > limit else None)


def find_decision(connection: Connection, decision_id: str) -> Decision | None:
    """One decision with its explanation; None if there is none of this id."""
    row = connection.execute(select(DECISIONS).where(DECISIONS.c.id == decision_id)).one_or_none()
    return None if row is None else _from_row(row)


def latest_counts(connection: Connection) -> dict[str, int]:
    """Per function, what the newest decision on its pool left it at."""
    pools = (DECISIONS.c.kind == "pool") & DECISIONS.c.cluster.is_(None)
    newest = select(func.max(DECISIONS.c.id)).where(pools).group_by(DECISIONS.c.function)
    rows = connection.execute(select(DECISIONS.c.function, DECISIONS.c.to_count).where(DECISIONS.c.id.in_(newest)))
    return {row.function: row.to_count for row in rows}


def drop_decisions(connection: Connection, before: float) -> int:
    """Forget decisions older than `before` (s); returns how many."""
    return int(connection.execute(delete(DECISIONS).where(DECISIONS.c.at < before)).rowcount)


_COLUMNS = ("id", "at", "kind", "function", "cluster", "from_count", "to_count", "applied", "held")


def row_of(decision: Decision) -> dict[str, Any]:
    """A decision as its row; the JSON is made here, so that the one thread that writes need not."""
    body: dict[str, Any] = {"policy": decision.policy, "inputs": decision.inputs, "reasons": decision.reasons}
    if decision.detail is not None:
        body["detail"] = decision.detail
    columns = {name: getattr(decision, name) for name in _COLUMNS}
    text = orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    return {**columns, "mode": decision.mode.value, "body": text}


def _from_row(row: Row[Any]) -> Decision:
    body = orjson.loads(row.body)
    columns = {name: getattr(row, name) for name in _COLUMNS}
    columns["function"] = FunctionKey(row.function)
    return Decision(
        **columns,
        mode=Mode(row.mode),
        policy=PolicyTag(**body["policy"]),
        inputs=body["inputs"],
        reasons=tuple(Reason(**reason) for reason in body["reasons"]),
        detail=read_detail(body.get("detail")),
    )
