"""The objects of one collection, each as the little that is kept of it.

resourceVersions are opaque: they are compared for equality only. An event whose version of that object was seen before
is a repetition, wherever it comes in the stream, and changes nothing; so a replay after a reconnect is harmless. A
deletion counts only for the object that it speaks of, not for another that took its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from federation.informer.reflect.decode import Change, Event

Kept = TypeVar("Kept")
REMEMBERED = 4_096
"""Versions of the newest events that are known again."""
_Seen = tuple[str, str, str]


class Item(NamedTuple, Generic[Kept]):
    """An object in the store."""

    version: str
    uid: str
    value: Kept


class Store(Generic[Kept]):
    """Objects by key; `changed(key, before, after)` is told every change of a value, None for absent."""

    def __init__(
        self, read: Callable[[dict[str, object]], Kept], changed: Callable[[str, Kept | None, Kept | None], None]
    ) -> None:
        self._read = read
        self._changed = changed
        self._items: dict[str, Item[Kept]] = {}
        self._seen: dict[_Seen, None] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def get(self, key: str) -> Kept | None:
        """What is kept of one object, None where it is not there."""
        item = self._items.get(key)
        return None if item is None else item.value

    @property
    def values(self) -> Mapping[str, Kept]:
        """What is kept, by key, in the order of keys."""
        return {key: self._items[key].value for key in sorted(self._items)}

    def replace(self, listed: Iterable[tuple[str, Item[Kept]]]) -> None:
        """Makes the store what a list says, and forgets what was seen before."""
        fresh = dict(listed)
        self._seen.clear()
        before, self._items = self._items, fresh
        for key, item in before.items():
            if key not in fresh:
                self._changed(key, item.value, None)
        for key, item in fresh.items():
            old = before.get(key)
            if old is None or old.value != item.value:
                self._changed(key, None if old is None else old.value, item.value)

    def apply(self, event: Event) -> None:
        """Takes an event over, unless it is a repetition."""
        if self._repeats(event):
            return
        old = self._items.get(event.key)
        if event.change is Change.DELETE:
            if old is not None and (not old.uid or not event.uid or old.uid == event.uid):
                del self._items[event.key]
                self._changed(event.key, old.value, None)
            return
        value = self._read(event.raw)
        self._items[event.key] = Item(event.version, event.uid, value)
        if old is None or old.value != value:
            self._changed(event.key, None if old is None else old.value, value)

    def _repeats(self, event: Event) -> bool:
        old = self._items.get(event.key)
        known = (event.change.value, event.uid or event.key, event.version)
        if known in self._seen:
            return True
        self._seen[known] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return event.change is Change.PUT and old is not None and (old.version, old.uid) == (event.version, event.uid)
