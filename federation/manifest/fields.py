"""Reading somebody else's JSON field by field, with complaints that name the place.

Absent and null are the same, as they are to an API server; a value of the wrong type is an InputError and never a
default.
"""

from __future__ import annotations

import re
from typing import Any

from prewarm.domain import InputError

Json = dict[str, Any]

MOST_INSTANCES = 100_000
"""Of one workload, as in our own form: more is a slip of the hand."""
_MOST = 2**31 - 1
_WHOLE = re.compile(r"-?[0-9]{1,10}")


def table(parent: Json, name: str, place: str) -> Json:
    """An object, empty where it is absent."""
    value = parent.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{place}.{name}: must be an object, is {str(value)[:60]!r}")
    return value


def rows(parent: Json, name: str, place: str) -> list[tuple[Json, str]]:
    """The objects of a list with the place of each, none where it is absent."""
    found = []
    for position, value in enumerate(_list(parent, name, place)):
        here = f"{place}.{name}[{position}]"
        if not isinstance(value, dict):
            raise InputError(f"{here}: must be an object, is {str(value)[:60]!r}")
        found.append((value, here))
    return found


def texts(parent: Json, name: str, place: str) -> tuple[str, ...]:
    """The texts of a list, none where it is absent."""
    values = _list(parent, name, place)
    for position, value in enumerate(values):
        if not isinstance(value, str):
            raise InputError(f"{place}.{name}[{position}]: must be a text, is {str(value)[:60]!r}")
    return tuple(values)


def _list(parent: Json, name: str, place: str) -> list[Any]:
    value = parent.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{place}.{name}: must be a list, is {str(value)[:60]!r}")
    return value


def text(parent: Json, name: str, place: str, *, default: str | None = None) -> str:
    """A text; InputError where it is absent and there is no default."""
    value = parent.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or (not value and default is None):
        shown = "absent" if value is None else repr(str(value)[:60])
        raise InputError(f"{place}.{name}: must be a text, is {shown}")
    return value


def whole(parent: Json, name: str, place: str, *, default: int, least: int = 0, most: int = _MOST) -> int:
    """A whole number from `least` to `most`."""
    value = parent.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{place}.{name}: must be a whole number from {least} to {most}, is {str(value)[:60]!r}")
    return value


def listed(annotations: Json, name: str, place: str) -> tuple[str, ...]:
    """The parts of a comma-separated annotation, blanks and empty parts left out."""
    value = annotations.get(name)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{place}[{name}]: must be a text, comma-separated, is {str(value)[:60]!r}")
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


def counted(annotations: Json, name: str, place: str, *, least: int = 0, most: int = _MOST) -> int | None:
    """The whole number from `least` to `most` in an annotation, None where it is absent."""
    value = annotations.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not _WHOLE.fullmatch(value.strip()) or not least <= int(value) <= most:
        raise InputError(
            f"{place}[{name}]: must be a whole number from {least} to {most} as a text, is {str(value)!r:.60}"
        )
    return int(value)


def switched(annotations: Json, name: str, place: str) -> bool | None:
    """The `true` or `false` in an annotation, None where it is absent."""
    value = annotations.get(name)
    if value is None:
        return None
    if value not in ("true", "false"):
        raise InputError(f"{place}[{name}]: must be 'true' or 'false', is {str(value)!r:.60}")
    return bool(value == "true")
