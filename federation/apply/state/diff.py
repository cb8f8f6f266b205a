"""What applying an object would change, field by field, without asking the server.

Only what is wanted or owned is compared: fields that others set and that the server filled in are theirs. Quantities
are compared as amounts ("1000m" is "1"). A server drops values that mean nothing to it (an empty list, false) and a
webhook may fill in what then counts as ours; where the very same object was applied before, neither is a change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from federation.apply.state.paths import Path, leaves
from federation.quantity import parse_quantity
from prewarm.domain import InputError

Json = dict[str, Any]

ABSENT = "(absent)"
HIDDEN = "(hidden)"

_AMOUNTS = frozenset({"requests", "limits", "overhead", "sizeLimit", "capacity"})


@dataclass(frozen=True, slots=True)
class Change:
    """One field that would change; `owns` is a field that has the value already and becomes ours as well."""

    path: str
    before: Any
    after: Any
    owns: bool = False

    def __str__(self) -> str:
        if self.owns:
            return f"= {self.path}: {_shown(self.after)} (becomes ours as well)"
        if self.after is ABSENT:
            return f"- {self.path}: {_shown(self.before)}"
        if self.before is ABSENT:
            return f"+ {self.path}: {_shown(self.after)}"
        return f"~ {self.path}: {_shown(self.before)} -> {_shown(self.after)}"


def changes_to(
    live: Json, wanted: Json, owned: Json, *, again: bool = False, secret: bool = False
) -> tuple[Change, ...]:
    """What applying `wanted` does to `live`, of which `owned` is our part; by path, sorted.

    again: the very same object was applied last time. secret: values under `data` are not shown.
    """
    now, want, ours = (dict(leaves(one)) for one in (live, wanted, owned))
    found = []
    for path, value in want.items():
        if not _holds(now, path, value, again=again):
            found.append(_change(path, now.get(path, ABSENT), value, secret=secret))
        elif not again and not _covers(ours, path):
            found.append(_change(path, value, value, secret=secret, owns=True))
    gone = {} if again else {path: value for path, value in ours.items() if not _said(want, path)}
    found += [_change(path, value, ABSENT, secret=secret) for path, value in gone.items()]
    return tuple(sorted(found, key=lambda change: change.path))


def _holds(now: Mapping[Path, Any], path: Path, value: Any, *, again: bool) -> bool:
    if path in now:
        return _equal(path, now[path], value)
    if again and not value:
        return True
    return value == {} and any(other[: len(path)] == path for other in now)


def _covers(leaf_paths: Mapping[Path, Any], path: Path) -> bool:
    """Whether `path`, something above it or something below it is among the leaves."""
    if any(path[:size] in leaf_paths for size in range(1, len(path) + 1)):
        return True
    return any(other[: len(path)] == path for other in leaf_paths)


def _said(want: Mapping[Path, Any], path: Path) -> bool:
    """Whether `want` speaks of `path` or of something below it, or has another value in a place above it."""
    above = (want.get(path[:size], ABSENT) for size in range(1, len(path)))
    return any(other[: len(path)] == path for other in want) or any(one not in (ABSENT, {}) for one in above)


def _equal(path: Path, left: Any, right: Any) -> bool:
    if left == right and isinstance(left, bool) == isinstance(right, bool):
        return True
    if not _AMOUNTS.intersection(path) or isinstance(left, list | dict) or isinstance(right, list | dict):
        return False
    try:
        return parse_quantity(str(left)) == parse_quantity(str(right))
    except InputError:
        return False


def _change(path: Path, before: Any, after: Any, *, secret: bool, owns: bool = False) -> Change:
    if secret and path[0] in ("data", "stringData"):
        before, after = (one if one is ABSENT else HIDDEN for one in (before, after))
    return Change(_spelled(path), before, after, owns)


def _spelled(path: Path) -> str:
    text = ""
    for part in path:
        quoted = f'["{part}"]' if "." in part or ("/" in part and not part.startswith("[")) else f".{part}"
        text += part if part.startswith("[") else quoted
    return text.lstrip(".")


def _shown(value: Any) -> str:
    text = value if value in (ABSENT, HIDDEN) else orjson.dumps(value).decode()
    return text if len(text) <= 120 else f"{text[:117]}..."
