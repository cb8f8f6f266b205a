"""The tables as queries see them; `migrations` says how a database gets there.

The types are those that SQLite and PostgreSQL share. JSON is kept as text, written and read by orjson at the border, so
that both databases hand back the same bytes.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

METADATA = MetaData()
_SERIAL = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only in an INTEGER key

FUNCTIONS = Table(
    "functions",
    METADATA,
    Column("row", Integer, primary_key=True, autoincrement=False),
    Column("key", Text, nullable=False, unique=True),
    Column("since", Integer),
)
"""Index of each function in the history; never changed, never used again. `since`: its first known minute."""

BATCHES = Table(
    "batches",
    METADATA,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("minute", Integer, nullable=False, index=True),
    Column("payload", LargeBinary, nullable=False),
)
"""Accepted counts of hours that are not closed yet, in the order of their acceptance."""

SEGMENTS = Table(
    "segments",
    METADATA,
    Column("start_minute", Integer, primary_key=True, autoincrement=False),
    Column("step", Integer, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)
"""Closed hours; `step` is their grain in minutes, which grows with age."""

INGESTS = Table(
    "ingests",
    METADATA,
    Column("source", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("at", Double, nullable=False, index=True),
    Column("answer", Text, nullable=False),
    PrimaryKeyConstraint("source", "sequence"),
)
"""What each (source, sequence) was answered, so that the same pair again changes nothing and is answered the same."""

SPOKEN = Table(
    "spoken",
    METADATA,
    Column("source", Text, nullable=False),
    Column("row", Integer, nullable=False),
    PrimaryKeyConstraint("source", "row"),
)
"""The functions, by their rows, that each source has named."""

DECISIONS = Table(
    "decisions",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("at", Double, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("function", Text, nullable=False),
    Column("cluster", Text),
    Column("from_count", Integer, nullable=False),
    Column("to_count", Integer, nullable=False),
    Column("applied", Boolean, nullable=False),
    Column("mode", Text, nullable=False),
    Column("held", Text),
    Column("body", Text, nullable=False),
    Index("ix_decisions_function_id", "function", "id"),
)
"""Decisions; `body` is the policy, the inputs and the reasons as JSON."""

OVERRIDES = Table(
    "overrides",
    METADATA,
    Column("function", Text, nullable=False),
    Column("cluster", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("value", Integer),
    Column("owner", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    PrimaryKeyConstraint("function", "cluster"),
)
"""One override a function and cluster; the empty cluster is all of them."""

RESERVATIONS = Table(
    "reservations",
    METADATA,
    Column("decision", Text, nullable=False),
    Column("cluster", Text, nullable=False),
    Column("workload", Text, nullable=False, index=True),
    Column("instances", Integer, nullable=False),
    Column("base", Integer, nullable=False),
    Column("shape", Text, nullable=False),
    Column("until", Double, nullable=False, index=True),
    Column("priority", Integer, nullable=False),
    PrimaryKeyConstraint("decision", "cluster"),
)
"""Room that placements were promised; `shape` is what one instance takes, as JSON. A row goes when it is over."""

DOCUMENTS = Table(
    "documents",
    METADATA,
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("updated_at", Double, nullable=False),
    PrimaryKeyConstraint("kind", "name"),
)
"""Small things that people set: the policy of a function, the mode, the service graph, the network."""

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False, index=True),
    Column("actor", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("before", Text),
    Column("after", Text),
)
"""Who changed what: every override, mode, policy and graph, with the value before and after as JSON."""

MODELS = Table(
    "models",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)
"""State that a model wants back after a restart (calibration, selection), as bytes of its own."""
