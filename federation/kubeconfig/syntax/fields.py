"""Typed reading of one mapping of a kubeconfig; an error names the file, the entry and the field, never its value.

Go's zero values are followed: null, an empty text and an absent field are the same. A field that is not known is
refused: a way in that is silently read without its proxy or its certificate is worse than a member that says so.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prewarm.domain import InputError

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping and the place where it stands."""

    place: str
    values: Mapping[str, object]

    def fail(self, rule: str) -> InputError:
        """An error about this place."""
        return InputError(f"{self.place}: {rule}")

    def only(self, known: Iterable[str]) -> None:
        """InputError when there is any other field with a value."""
        for name in sorted(set(map(str, self.values)) - set(known)):
            raise self.fail(f"{name!r} is not supported")

    def text(self, name: str) -> str | None:
        """A text, None where it is absent or empty."""
        value = self.values.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise self.fail(f"{name} must be text, is {_kind(value)}")
        return value

    def line(self, name: str) -> str | None:
        """A text without control characters: it goes into a header, an address or a file's name."""
        value = self.text(name)
        if value is not None and _CONTROL.search(value):
            raise self.fail(f"{name} must not hold line breaks or other control characters")
        return value

    def flag(self, name: str) -> bool:
        """True or false; false where it is absent."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.fail(f"{name} must be true or false, is {_kind(value)}")
        return bool(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        items = self.items(name)
        if not all(isinstance(item, str) for item in items):
            raise self.fail(f"{name} must be a list of texts")
        return tuple(str(item) for item in items)

    def items(self, name: str) -> list[object]:
        """A list of anything; empty where it is absent."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fail(f"{name} must be a list, is {_kind(value)}")
        return value

    def inner(self, name: str) -> Fields | None:
        """A mapping inside this one, None where it is absent."""
        value = self.values.get(name)
        return None if value is None else fields(value, f"{self.place}.{name}")

    def data(self, name: str) -> bytes | None:
        """The bytes of a base64 text."""
        value = self.text(name)
        if value is None:
            return None
        try:
            return base64.b64decode(re.sub(r"[\r\n]", "", value), validate=True)
        except (binascii.Error, ValueError):
            raise self.fail(f"{name} must be base64") from None


def fields(value: object, place: str) -> Fields:
    """`value` as a mapping; InputError naming `place` otherwise."""
    if not isinstance(value, dict):
        raise InputError(f"{place}: must be a mapping, is {_kind(value)}")
    return Fields(place, value)


def _kind(value: object) -> str:
    kinds = {type(None): "null", bool: "true or false", str: "text", list: "a list", dict: "a mapping"}
    return kinds.get(type(value), "a number")
