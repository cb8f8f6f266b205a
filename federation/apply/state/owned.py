"""Who owns which fields of a live object, read from its managedFields (FieldsV1, KEP-555).

In FieldsV1 `f:NAME` is a field, `k:{...}` the item of a list with these keys, `v:VALUE` an item of a set, `i:N` an item
by position, `.` the thing itself; an empty object is a leaf and means the whole value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from federation.apply.state.paths import keyed_items
from federation.labels import FIELD_MANAGER, MANAGED_BY

Json = dict[str, Any]

SYSTEM_MANAGERS = frozenset(
    {"kube-controller-manager", "kube-scheduler", "kube-apiserver", "kubelet", "controller", "autoscaler", "webhook"}
)
"""Controllers of Kubernetes and Knative: they write to every object and own none as a person or a tool does."""
_DEFAULTED = frozenset({"protocol"})  # a key of ports that need not be written
_FILLED = frozenset({"strategy", "rollingUpdate"})  # a server fills these in where they were applied empty
_PASSING = frozenset({"status", "scale"})


def applied_fields(live: Json, manager: str = FIELD_MANAGER) -> Json:
    """FieldsV1 of what `manager` applied to the object itself; empty where it applied nothing."""
    for entry in _entries(live):
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            fields: Json = entry.get("fieldsV1") or {}
            return fields
    return {}


def owned_part(live: Json, manager: str = FIELD_MANAGER) -> Json:
    """The object as `manager` last applied it: its fields with their values now, ready to be applied again."""
    picked = _pick(live, applied_fields(live, manager)) if applied_fields(live, manager) else {}
    return (
        _identity(live)
        | {key: value for key, value in picked.items() if key != "metadata"}
        | {"metadata": (picked.get("metadata") or {}) | _identity(live)["metadata"]}
    )


def part_like(live: Any, wanted: Any, name: str = "") -> Any:
    """What `live` holds at the fields of `wanted`: what is put back after those were taken from other owners."""
    if isinstance(live, dict) and isinstance(wanted, dict):
        return {key: part_like(live[key], inner, key) for key, inner in wanted.items() if key in live}
    if isinstance(live, list) and isinstance(wanted, list):
        mine, theirs = dict(keyed_items(name, wanted)), keyed_items(name, live)
        if mine and theirs:
            return [part_like(item, mine[key]) for key, item in theirs if key in mine]
    return live


def joined(left: Any, right: Any, name: str = "") -> Any:
    """Two parts of one object as one part."""
    if isinstance(left, dict) and isinstance(right, dict):
        both = {key: joined(inner, right[key], key) if key in right else inner for key, inner in left.items()}
        return {**{key: inner for key, inner in right.items() if key not in left}, **both}
    if isinstance(left, list) and isinstance(right, list):
        mine, theirs = dict(keyed_items(name, left)), dict(keyed_items(name, right))
        if mine and theirs:
            return list(joined(mine, theirs).values())
        return left or right  # a part without items holds none of them, it does not say that there are none
    return left


def is_ours(live: Json) -> bool:
    """Whether we made it: our label, owned by our field manager's apply."""
    meta = live.get("metadata", {})
    owned = applied_fields(live).get("f:metadata", {}).get("f:labels", {})
    return meta.get("labels", {}).get(MANAGED_BY) == FIELD_MANAGER and f"f:{MANAGED_BY}" in owned


def other_owners(live: Json) -> tuple[str, ...]:
    """Who else owns fields of it, apart from the system's controllers and from autoscalers through /scale."""
    names = {
        str(entry.get("manager"))
        for entry in _entries(live)
        if entry.get("subresource") not in _PASSING and entry.get("fieldsV1")
    }
    return tuple(sorted(names - SYSTEM_MANAGERS - {FIELD_MANAGER}))


def _entries(live: Json) -> Iterator[Json]:
    yield from live.get("metadata", {}).get("managedFields") or ()


def _identity(live: Json) -> Json:
    meta = live["metadata"]
    kept = {name: meta[name] for name in ("name", "namespace") if name in meta}
    return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": kept}


def _pick(value: Any, fields: Json) -> Any:
    """The part of `value` that `fields` name; of a field that is no longer there, nothing."""
    inner = {key: sub for key, sub in fields.items() if key != "."}
    if not inner:
        return value if "." not in fields else type(value)()
    if isinstance(value, dict):
        named = {key[2:]: sub for key, sub in inner.items() if key.startswith("f:")}
        return {
            name: {} if not sub and name in _FILLED else _pick(value[name], sub)
            for name, sub in named.items()
            if name in value
        }
    if isinstance(value, list):
        return list(_items(value, inner))
    return value


def _items(items: list[Any], fields: Json) -> Iterator[Any]:
    """Items in the order of the live list, since the order of containers and arguments is theirs."""
    for position, item in enumerate(items):
        for key, sub in fields.items():
            mark, _, text = key.partition(":")
            if mark == "i" and text == str(position):
                yield _pick(item, sub)
            elif mark == "v" and orjson.loads(text) == item:
                yield item
            elif mark == "k" and isinstance(item, dict):
                keys = orjson.loads(text)
                if all(item.get(name) == wanted for name, wanted in keys.items()):
                    needed = {name: wanted for name, wanted in keys.items() if name not in _DEFAULTED}
                    yield {**needed, **_pick(item, sub)}
