"""What people set: overrides, policies, modes, the service graph; each change with its audit entry."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select

from prewarm.domain import Action, FunctionKey, Override
from prewarm.store.prepared import replace_row
from prewarm.store.schema import AUDIT, DOCUMENTS, MODELS, OVERRIDES

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who changed what, when, from what to what (None: it was not there)."""

    id: int
    at: float
    actor: str
    what: str
    name: str
    before: Json | None
    after: Json | None


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who makes a change, and when (s)."""

    actor: str
    at: float


def put_override(connection: Connection, override: Override, stamp: Stamp) -> None:
    """Set the override of a function (and cluster), replacing the one there is."""
    before = _found_override(connection, override.function, override.cluster)
    columns = asdict(override) | {"cluster": override.cluster or "", "action": override.action.value}
    replace_row(connection, OVERRIDES, columns)
    _audit(connection, stamp, "override", _name(override.function, override.cluster), (before, asdict(override)))


def end_override(connection: Connection, function: str, cluster: str | None, stamp: Stamp) -> bool:
    """End an override; False if there is none."""
    before = _found_override(connection, function, cluster)
    if before is not None:
        connection.execute(delete(OVERRIDES).where(_is_override(function, cluster)))
        _audit(connection, stamp, "override", _name(function, cluster), (before, None))
    return before is not None


def end_expired(connection: Connection, now: float) -> int:
    """End the overrides whose time is over, in the name of `expiry`; returns how many."""
    over = [one for one in overrides(connection) if one.expires_at is not None and one.expires_at <= now]
    for one in over:
        end_override(connection, one.function, one.cluster, Stamp("expiry", now))
    return len(over)


def overrides(connection: Connection) -> tuple[Override, ...]:
    """All overrides, by function and cluster."""
    rows = connection.execute(select(OVERRIDES).order_by(OVERRIDES.c.function, OVERRIDES.c.cluster))
    return tuple(_override(row) for row in rows)


def _found_override(connection: Connection, function: str, cluster: str | None) -> Json | None:
    """What is there, kept from changing until the transaction ends."""
    query = select(OVERRIDES).where(_is_override(function, cluster)).with_for_update()
    row = connection.execute(query).one_or_none()
    return None if row is None else asdict(_override(row))


def _is_override(function: str, cluster: str | None) -> ColumnElement[bool]:
    return (OVERRIDES.c.function == function) & (OVERRIDES.c.cluster == (cluster or ""))


def _override(row: Row[Any]) -> Override:
    columns = dict(row._mapping)  # noqa: SLF001  SQLAlchemy's public name for a row's columns
    columns["function"] = FunctionKey(row.function)
    columns["cluster"], columns["action"] = row.cluster or None, Action(row.action)
    return Override(**columns)


def _name(function: str, cluster: str | None) -> str:
    return f"{function}@{cluster}" if cluster else function


def put_document(connection: Connection, kind: str, name: str, body: Json, stamp: Stamp) -> None:
    """Set a document: kind `policy` by function key, `mode`, `graph` or `network` under the name `fleet`."""
    before = _found_document(connection, kind, name)
    text = orjson.dumps(body).decode()
    replace_row(connection, DOCUMENTS, {"kind": kind, "name": name, "body": text, "updated_at": stamp.at})
    _audit(connection, stamp, kind, name, (before, body))


def drop_document(connection: Connection, kind: str, name: str, stamp: Stamp) -> bool:
    """Remove a document; False if there is none."""
    before = _found_document(connection, kind, name)
    if before is not None:
        connection.execute(delete(DOCUMENTS).where(_is_document(kind, name)))
        _audit(connection, stamp, kind, name, (before, None))
    return before is not None


def documents(connection: Connection, kind: str) -> dict[str, Json]:
    """All documents of a kind by name."""
    rows = connection.execute(select(DOCUMENTS).where(DOCUMENTS.c.kind == kind).order_by(DOCUMENTS.c.name))
    return {row.name: orjson.loads(row.body) for row in rows}


def _found_document(connection: Connection, kind: str, name: str) -> Json | None:
    """What is there, kept from changing until the transaction ends."""
    query = select(DOCUMENTS.c.body).where(_is_document(kind, name)).with_for_update()
    body = connection.execute(query).scalar()
    return None if body is None else orjson.loads(body)


def _is_document(kind: str, name: str) -> ColumnElement[bool]:
    return (DOCUMENTS.c.kind == kind) & (DOCUMENTS.c.name == name)


def _audit(connection: Connection, stamp: Stamp, what: str, name: str, change: tuple[Json | None, Json | None]) -> None:
    before, after = (None if side is None else orjson.dumps(side).decode() for side in change)
    entry = {"at": stamp.at, "actor": stamp.actor, "what": what, "name": name, "before": before, "after": after}
    connection.execute(insert(AUDIT).values(**entry))


def audit_entries(
    connection: Connection, *, limit: int, cursor: int | None = None, name: str | None = None
) -> tuple[AuditEntry, ...]:
    """At most `limit` entries older than the id `cursor`, newest first, of one name if given."""
    query = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(limit)
    if cursor is not None:
        query = query.where(AUDIT.c.id < cursor)
    if name is not None:
        query = query.where(AUDIT.c.name == name)
    return tuple(
        AuditEntry(row.id, row.at, row.actor, row.what, row.name, *(_json(side) for side in (row.before, row.after)))
        for row in connection.execute(query)
    )


def _json(text: str | None) -> Json | None:
    return None if text is None else orjson.loads(text)


def drop_audit(connection: Connection, before: float) -> int:
    """Forget entries older than `before` (s); returns how many."""
    return int(connection.execute(delete(AUDIT).where(AUDIT.c.at < before)).rowcount)


def put_model(connection: Connection, name: str, version: str, payload: bytes, at: float) -> None:
    """Keep a model's state under its name, replacing the one there is."""
    replace_row(connection, MODELS, {"name": name, "version": version, "at": at, "payload": payload})


def find_model(connection: Connection, name: str) -> tuple[str, bytes] | None:
    """Version and state of a model; None if none is kept."""
    row = connection.execute(select(MODELS.c.version, MODELS.c.payload).where(MODELS.c.name == name)).one_or_none()
    return None if row is None else (row.version, bytes(row.payload))
