"""One line of a watch into an event, or into the reason why the watch is of no more use.

An ERROR carries a Status and no object of the collection; it ends here. That a version has expired is said in at least
four ways (410 as a status, 410 in an event, 500 with a text, a reason without a code), and all are one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import orjson

from federation.informer.read.shape import Raw, part, text

_EXPIRED_REASONS = frozenset({"Expired", "Gone"})
_EXPIRED_TEXTS = ("too old resource version", "resourceversion is too old", "expired")
_BUSY = frozenset({429, 503, 504})


class Change(StrEnum):
    """What an event does to the store."""

    PUT = "put"
    DELETE = "delete"


class Event(NamedTuple):
    """An object as it is now (`PUT`), or as it was at its end (`DELETE`)."""

    change: Change
    key: str
    version: str
    uid: str
    raw: Raw


class Bookmark(NamedTuple):
    """Everything up to `version` was sent."""

    version: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The watch is over. relist: whether what is held cannot be continued from."""

    why: str
    relist: bool


Line = Event | Bookmark | Failure
_CHANGES: Mapping[object, Change] = {"ADDED": Change.PUT, "MODIFIED": Change.PUT, "DELETED": Change.DELETE}


def is_expired(status: int, reason: str, message: str) -> bool:
    """Whether a failure means that the version (or the page) asked from is no longer kept."""
    if status == 410 or reason in _EXPIRED_REASONS:
        return True
    lowered = message.lower()
    return status >= 500 and any(words in lowered for words in _EXPIRED_TEXTS)


def decode(line: bytes) -> Line:
    """What a line says."""
    try:
        parsed = orjson.loads(line)
    except orjson.JSONDecodeError:
        return Failure("a line that is not JSON", relist=True)
    item = part(parsed, "object")
    kind = parsed.get("type") if isinstance(parsed, dict) else None
    if kind == "ERROR":
        return _failure(item)
    version = text(part(item, "metadata"), "resourceVersion")
    if kind == "BOOKMARK" and version:
        return Bookmark(version)
    change = _CHANGES.get(kind)
    key = key_of(item)
    if change is None or key is None or version is None:
        return Failure(f"an event that cannot be understood (type {str(kind)[:40]})", relist=True)
    return Event(change, key, version, uid_of(item), item)


def key_of(item: Raw) -> str | None:
    """`namespace/name`, or the name alone of what has no namespace; None for what has no name."""
    meta = part(item, "metadata")
    name, namespace = text(meta, "name"), text(meta, "namespace")
    return f"{namespace}/{name}" if name and namespace else name


def uid_of(item: Raw) -> str:
    """The identity of an object over its life, empty where it has none."""
    return text(part(item, "metadata"), "uid") or ""


def _failure(status: Raw) -> Failure:
    code = status.get("code")
    number = code if isinstance(code, int) else 0
    reason, message = text(status, "reason") or "", text(status, "message") or ""
    says = f"{number} {reason}: {message[:120]}"
    return Failure(says, relist=number not in _BUSY or is_expired(number, reason, message))
