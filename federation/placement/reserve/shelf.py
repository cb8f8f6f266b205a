"""A map of thousands of keys as a frozen value: putting one key copies a small part of it and shares the rest.

The book of promised room is a value, and it changes with every decision. A plain dictionary of all workloads would be
copied each time, which at six thousand claims cost more than the decision itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")
_PARTS = 128


class Shelf(Mapping[str, Value]):
    """Keys by their hash in `_PARTS` dictionaries; nothing ever changes a dictionary that is part of a shelf."""

    __slots__ = ("_parts",)

    def __init__(self, parts: tuple[dict[str, Value], ...] = ({},) * _PARTS) -> None:
        self._parts = parts

    def put(self, key: str, value: Value) -> Shelf[Value]:
        """The shelf with one key more, or another value for it."""
        return self._replaced(key, {**self._part(key), key: value})

    def drop(self, key: str) -> Shelf[Value]:
        """The shelf without one key; the shelf itself where it is not there."""
        part = self._part(key)
        return self._replaced(key, {name: one for name, one in part.items() if name != key}) if key in part else self

    def __getitem__(self, key: str) -> Value:
        return self._part(key)[key]

    def get(self, key: str, default: Value | None = None) -> Value | None:  # type: ignore[override]
        """The value of a key; without the exception that the general one goes through."""
        return self._part(key).get(key, default)

    def __iter__(self) -> Iterator[str]:
        return (key for part in self._parts for key in part)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def _part(self, key: str) -> dict[str, Value]:
        return self._parts[hash(key) % _PARTS]

    def _replaced(self, key: str, part: dict[str, Value]) -> Shelf[Value]:
        at = hash(key) % _PARTS
        return Shelf((*self._parts[:at], part, *self._parts[at + 1 :]))
