"""Objects as leaves under paths, in which an item of a keyed list goes by its key, as server-side apply merges them.

Which lists are keyed is the API's own schema; the part of it that the kinds need which we write is in a table here. A
list that is not in it (or whose keys repeat) is one leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from federation.labels import APPLIED

Json = dict[str, Any]
Path = tuple[str, ...]

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
_IDENTITY = frozenset(
    {
        ("apiVersion",),
        ("kind",),
        ("metadata", "name"),
        ("metadata", "namespace"),
        ("metadata", "annotations", APPLIED),
    }
)
"""What says which object it is, and which version of it we applied: no leaf."""


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
