"""Durable state in SQLite (a file, the default) or PostgreSQL (by URL), with the same code and the same promises.

`Store` writes and reads; the functions of `decisions`, `people` and `counts` say what. Nothing is acknowledged before
it is committed, and a restart brings the history back.
"""

from prewarm.store.decisions import (
    DecisionPage,
    add_decisions,
    find_decision,
    latest_counts,
    mark_applied,
    page_decisions,
)
from prewarm.store.durable import Store
from prewarm.store.migrations import SchemaError
from prewarm.store.people import (
    AuditEntry,
    Stamp,
    audit_entries,
    documents,
    drop_document,
    end_expired,
    end_override,
    find_model,
    overrides,
    put_document,
    put_model,
    put_override,
)
from prewarm.store.writer import StoreBusyError, StoreDownError, StoreState, WriterSettings

__all__ = [
    "AuditEntry",
    "DecisionPage",
    "SchemaError",
    "Stamp",
    "Store",
    "StoreBusyError",
    "StoreDownError",
    "StoreState",
    "WriterSettings",
    "add_decisions",
    "audit_entries",
    "documents",
    "drop_document",
    "end_expired",
    "end_override",
    "find_decision",
    "find_model",
    "latest_counts",
    "mark_applied",
    "overrides",
    "page_decisions",
    "put_document",
    "put_model",
    "put_override",
]
