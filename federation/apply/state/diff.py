"""What applying an object would change, field by field, without asking the server.

Objects are compared leaf by leaf under paths in which an item of a keyed list goes by its key, as server-side apply
merges them; a list that is not keyed is one leaf. Only what is wanted or owned is compared: fields that others set and
that the server filled in are theirs. Quantities are compared as amounts ("1000m" is "1").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from federation.quantity import parse_quantity
from prewarm.domain import InputError

Json = dict[str, Any]
Path = tuple[str, ...]

ABSENT = "(absent)"
HIDDEN = "(hidden)"

_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "imagePullSecrets": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
"""Lists that are merged by key, by the name of their field; ports go by their number and protocol."""
_AMOUNTS = frozenset({"requests", "limits", "overhead", "sizeLimit", "capacity"})
_IDENTITY = frozenset({("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")})


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


def changes_to(live: Json, wanted: Json, owned: Json, *, secret: bool = False) -> tuple[Change, ...]:
    """What applying `wanted` does to `live`, of which `owned` is our part; by path, sorted."""
    now, want, ours = (dict(leaves(one)) for one in (live, wanted, owned))
    found = []
    for path, value in want.items():
        if not _holds(now, path, value):
            found.append(_change(path, now.get(path, ABSENT), value, secret=secret))
        elif not _covers(ours, path):
            found.append(_change(path, value, value, secret=secret, owns=True))
    for path, value in ours.items():
        if not _said(want, path):
            found.append(_change(path, value, ABSENT, secret=secret))
    return tuple(sorted(found, key=lambda change: change.path))


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf with its path: scalars, lists without keys and empty objects; null is absent, identity left out."""
    if isinstance(value, dict) and any(inner is not None for inner in value.values()):
        for name, inner in value.items():
            if inner is not None and (*path, name) not in _IDENTITY:
                yield from leaves(inner, (*path, name))
    elif isinstance(value, list) and (keyed := keyed_items(path[-1] if path else "", value)):
        for key, item in keyed:
            yield from leaves(item, (*path, key))
    else:
        yield path, {} if isinstance(value, dict) else value


def keyed_items(name: str, items: list[Any]) -> list[tuple[str, Any]]:
    """The items of the list called `name` with their keys; nothing where that list is one value."""
    if not items or not all(isinstance(item, dict) for item in items):
        return []
    if name == "ports":
        field = "containerPort" if "containerPort" in items[0] else "port"
        keys = [f"[{item.get(field)}/{item.get('protocol', 'TCP')}]" for item in items]
    elif name in _KEYS:
        keys = [f"[{','.join(str(item.get(part)) for part in _KEYS[name])}]" for item in items]
    else:
        return []
    return list(zip(keys, items, strict=True)) if len(set(keys)) == len(keys) else []


def _holds(now: Mapping[Path, Any], path: Path, value: Any) -> bool:
    if path in now:
        return _equal(path, now[path], value)
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
