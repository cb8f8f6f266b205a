"""Reading a dict that somebody else made: what is not of the expected shape is absent, and never an exception.

Only quantities raise (`QuantityError`), because a quantity that cannot be read means that an amount is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Raw = dict[str, Any]
_NOTHING: Raw = {}


def part(raw: object, key: str) -> Raw:
    """The object under `key`, empty where there is none."""
    value = raw.get(key) if isinstance(raw, dict) else None
    return value if isinstance(value, dict) else _NOTHING


def parts(raw: object, key: str) -> Iterator[Raw]:
    """The objects in the list under `key`."""
    value = raw.get(key) if isinstance(raw, dict) else None
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def text(raw: Raw, key: str) -> str | None:
    """The text under `key`, None where it is absent or empty."""
    value = raw.get(key)
    return value if isinstance(value, str) and value else None


def whole(raw: Raw, key: str, absent: int = 0) -> int:
    """The whole number of 0 and more under `key`."""
    value = raw.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else absent


def labels_of(raw: Raw) -> dict[str, str]:
    """The labels of an object that are text."""
    return {key: value for key, value in part(part(raw, "metadata"), "labels").items() if isinstance(value, str)}
