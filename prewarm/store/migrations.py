"""Numbered steps from an empty database to the schema of this version.

A step is plain SQL, frozen once released: later versions add steps and never edit one. All missing steps run in one
transaction under a lock, so two services that start at once migrate once, and a failed step leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, inspect, text

from prewarm.domain import PrewarmError

_LOCK = 7_730_927  # any number; PostgreSQL's advisory lock for "prewarm is migrating"
_TYPES = {
    "sqlite": {"{serial}": "INTEGER PRIMARY KEY AUTOINCREMENT", "{blob}": "BLOB", "{double}": "DOUBLE"},
    "postgresql": {"{serial}": "BIGSERIAL PRIMARY KEY", "{blob}": "BYTEA", "{double}": "DOUBLE PRECISION"},
}

Migration = tuple[str, ...]

MIGRATIONS: tuple[Migration, ...] = (
    (
        'CREATE TABLE functions ("row" INTEGER PRIMARY KEY, "key" TEXT NOT NULL UNIQUE, since INTEGER)',
        "CREATE TABLE batches (id {serial}, minute INTEGER NOT NULL, payload {blob} NOT NULL)",
        "CREATE INDEX ix_batches_minute ON batches (minute)",
        "CREATE TABLE segments (start_minute INTEGER PRIMARY KEY, step INTEGER NOT NULL, payload {blob} NOT NULL)",
        (
            "CREATE TABLE ingests (source TEXT NOT NULL, sequence BIGINT NOT NULL, at {double} NOT NULL,"
            " answer TEXT NOT NULL, PRIMARY KEY (source, sequence))"
        ),
        "CREATE INDEX ix_ingests_at ON ingests (at)",
        (
            "CREATE TABLE decisions (id TEXT PRIMARY KEY, at {double} NOT NULL, kind TEXT NOT NULL,"
            " function TEXT NOT NULL, cluster TEXT,"
            " from_count INTEGER NOT NULL, to_count INTEGER NOT NULL, applied BOOLEAN NOT NULL,"
            " mode TEXT NOT NULL, held TEXT, body TEXT NOT NULL)"
        ),
        "CREATE INDEX ix_decisions_at ON decisions (at)",
        "CREATE INDEX ix_decisions_function_id ON decisions (function, id)",
        (
            "CREATE TABLE overrides (function TEXT NOT NULL, cluster TEXT NOT NULL, action TEXT NOT NULL,"
            " value INTEGER, owner TEXT NOT NULL,"
            " reason TEXT NOT NULL, created_at {double} NOT NULL, expires_at {double},"
            " PRIMARY KEY (function, cluster))"
        ),
        (
            "CREATE TABLE documents (kind TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,"
            " updated_at {double} NOT NULL, PRIMARY KEY (kind, name))"
        ),
        (
            "CREATE TABLE audit (id {serial}, at {double} NOT NULL, actor TEXT NOT NULL, what TEXT NOT NULL,"
            ' name TEXT NOT NULL, "before" TEXT, "after" TEXT)'
        ),
        "CREATE INDEX ix_audit_at ON audit (at)",
        (
            "CREATE TABLE models (name TEXT PRIMARY KEY, version TEXT NOT NULL, at {double} NOT NULL,"
            " payload {blob} NOT NULL)"
        ),
    ),
    ('CREATE TABLE spoken (source TEXT NOT NULL, "row" INTEGER NOT NULL, PRIMARY KEY (source, "row"))',),
    (
        (
            "CREATE TABLE reservations (decision TEXT NOT NULL, cluster TEXT NOT NULL, workload TEXT NOT NULL,"
            " instances INTEGER NOT NULL, base INTEGER NOT NULL, shape TEXT NOT NULL, until {double} NOT NULL,"
            " priority INTEGER NOT NULL, PRIMARY KEY (decision, cluster))"
        ),
    ),
    (
        "CREATE INDEX ix_reservations_workload ON reservations (workload)",
        "CREATE INDEX ix_reservations_until ON reservations (until)",
    ),
)


class SchemaError(PrewarmError):
    """The database was written by a newer prewarm."""


def migrate(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Bring the database up to the last migration within the connection's transaction; returns how many ran.

    SchemaError when the database is ahead of `migrations`: an older program must not write into it.
    """
    dialect = connection.dialect.name
    if dialect == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    version = _version(connection)
    if version > len(migrations):
        raise SchemaError(
            f"the database has schema {version}, this prewarm knows {len(migrations)}: run the newer prewarm, "
            "or give this one another database"
        )
    for migration in migrations[version:]:
        for statement in migration:
            for name, meaning in _TYPES[dialect].items():
                statement = statement.replace(name, meaning)
            connection.exec_driver_sql(statement)
    connection.execute(text("UPDATE schema_version SET version = :version"), {"version": len(migrations)})
    return len(migrations) - version


def _version(connection: Connection) -> int:
    if not inspect(connection).has_table("schema_version"):
        connection.execute(text("CREATE TABLE schema_version (version INTEGER NOT NULL)"))
        connection.execute(text("INSERT INTO schema_version VALUES (0)"))
    return int(connection.execute(text("SELECT version FROM schema_version")).scalar_one())
