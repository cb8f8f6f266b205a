"""An API server in memory that knows server-side apply, and misbehaves when told to.

Objects are kept flat, as paths in the spelling of FieldsV1; that makes ownership plain: a path has owners, an apply
conflicts where another owner holds another value, and what only we owned goes when we no longer apply it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from federation.members.api import APPLY, JSON, RefusedError, UnreachableError

Json = dict[str, Any]
Path = tuple[str, ...]
Owner = tuple[str, str, str]  # manager, operation, subresource

LISTS = {"containers": ["name"], "env": ["name"], "volumes": ["name"], "ports": ["containerPort", "protocol"]}
IDENTITY = (("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name"), ("f:metadata", "f:namespace"))


class Crash(BaseException):
    """The process dies here."""


@dataclass
class Stored:
    fields: dict[Path, Any]
    identity: Json
    uid: str
    version: int
    owners: dict[Owner, set[Path]] = field(default_factory=dict)


@dataclass
class Call:
    method: str
    path: str
    query: dict[str, str]
    body: Any
    content_type: str
    deadline_s: float | None = None


class FakeApi:
    """One member. `fault` may raise before a call is carried out, `after` once it was."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.objects: dict[str, Stored] = {}
        self.calls: list[Call] = []
        self.fault: Callable[[Call], None] = lambda _: None
        self.after: Callable[[Call], None] = lambda _: None
        self.groups = {"gateway.networking.k8s.io/v1"}
        self._version = 100

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object | None = None,
        content_type: str = JSON,
        deadline_s: float | None = None,
    ) -> Json:
        call = Call(method, path, dict(query or {}), copy.deepcopy(body), content_type, deadline_s)
        self.calls.append(call)
        self.fault(call)
        answer = self._answer(call)
        self.after(call)
        return answer

    def stream(self, path: str, *, query: Mapping[str, str]) -> AbstractAsyncContextManager[Any]:
        raise AssertionError(f"the writer watches nothing, and asked for {path} {query}")

    @property
    def writes(self) -> list[Call]:
        return [call for call in self.calls if call.method != "GET"]

    def live(self, path: str) -> Json:
        return self._render(self.objects[path])

    def put(self, path: str, body: Json, manager: str = "kubectl", operation: str = "Update") -> None:
        """What somebody else made."""
        self._version += 1
        flat = flatten(body)
        stored = Stored(flat, _identity(body), f"uid-{self._version}", self._version)
        stored.owners[manager, operation, ""] = set(flat)
        self.objects[path] = stored

    def touch(self, path: str, fields: Mapping[Path, Any], manager: str, subresource: str = "") -> None:
        """Somebody sets fields by an ordinary update and becomes their only owner."""
        stored = self.objects[path]
        for owned in stored.owners.values():
            owned.difference_update(fields)
        stored.fields.update(fields)
        stored.owners.setdefault((manager, "Update", subresource), set()).update(fields)
        self._bump(stored)

    def _answer(self, call: Call) -> Json:
        if call.method == "GET":
            return self._get(call)
        if call.method == "PATCH":
            assert call.content_type == APPLY
            assert call.query["fieldManager"]
            return self._apply(call)
        if call.method == "DELETE":
            return self._delete(call)
        raise AssertionError(call)

    def _get(self, call: Call) -> Json:
        if call.path in self.objects:
            return self.live(call.path)
        if call.path.removeprefix("/apis/") in self.groups:
            return {"kind": "APIResourceList"}
        below = [path for path in self.objects if path.rpartition("/")[0] == call.path]
        if below or call.path.rpartition("/")[2] in ("deployments", "jobs", "services", "configmaps"):
            return {"items": [self.live(path) for path in sorted(below)]}
        raise self._refuse(404, "NotFound", f"{call.path} not found")

    def _apply(self, call: Call) -> Json:
        path, _, subresource = call.path, "", ""
        if path.endswith("/scale"):
            path, subresource = path.removesuffix("/scale"), "scale"
            if path not in self.objects:
                raise self._refuse(404, "NotFound", f"{path} not found")
        stored = self.objects.get(path) or Stored({}, _identity(call.body), f"uid-{self._version}", 0)
        stored = copy.deepcopy(stored)
        wanted, before = flatten(call.body), copy.deepcopy((stored.fields, stored.owners))
        me: Owner = (call.query["fieldManager"], "Apply", subresource)
        contests = [
            (owner, at)
            for owner, owned in stored.owners.items()
            if owner != me
            for at, value in wanted.items()
            if at in owned and stored.fields.get(at) != value
        ]
        if contests and call.query.get("force") != "true":
            raise self._conflict(contests)
        for owner, at in contests:
            stored.owners[owner].discard(at)
        others = set().union(*(owned for owner, owned in stored.owners.items() if owner != me))
        for at in stored.owners.get(me, set()) - set(wanted) - others:
            stored.fields.pop(at, None)
        stored.fields.update(wanted)
        stored.owners[me] = set(wanted)
        if call.query.get("dryRun") == "All":
            return self._render(stored)
        if (stored.fields, stored.owners) != before or path not in self.objects:
            self._bump(stored)
            self.objects[path] = stored
        return self.live(path)

    def _delete(self, call: Call) -> Json:
        stored = self.objects.get(call.path)
        if stored is None:
            raise self._refuse(404, "NotFound", f"{call.path} not found")
        judged = call.body["preconditions"]
        if judged != {"uid": stored.uid, "resourceVersion": str(stored.version)}:
            raise self._refuse(409, "Conflict", "the object was changed")
        if call.body.get("dryRun") != ["All"]:  # as the real one: with a body, the query is not read
            del self.objects[call.path]
        return {"kind": "Status", "status": "Success"}

    def _bump(self, stored: Stored) -> None:
        self._version += 1
        stored.version = self._version

    def _refuse(self, status: int, reason: str, message: str) -> RefusedError:
        return RefusedError(self.name, status, reason=reason, message=message)

    def _conflict(self, contests: list[tuple[Owner, Path]]) -> RefusedError:
        causes = tuple(
            {
                "reason": "FieldManagerConflict",
                "message": f'conflict with "{owner[0]}"' + (f' with subresource "{owner[2]}"' if owner[2] else ""),
                "field": "".join(part.replace("f:", ".", 1) if part.startswith("f:") else "[]" for part in at),
            }
            for owner, at in contests
        )
        return RefusedError(self.name, 409, reason="Conflict", message="Apply failed with conflicts", causes=causes)

    def _render(self, stored: Stored) -> Json:
        body = {**stored.identity, **unflatten(stored.fields)}
        meta = {**stored.identity["metadata"], **body.get("metadata", {})}
        managed = [
            {"manager": manager, "operation": operation, "fieldsV1": _tree(paths)}
            | ({"subresource": subresource} if subresource else {})
            for (manager, operation, subresource), paths in stored.owners.items()
            if paths
        ]
        meta |= {"uid": stored.uid, "resourceVersion": str(stored.version), "managedFields": managed}
        return copy.deepcopy({**body, "metadata": meta})


def _identity(body: Json) -> Json:
    kept = {key: body["metadata"][key] for key in ("name", "namespace") if key in body["metadata"]}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": kept}


def flatten(value: Any, path: Path = ()) -> dict[Path, Any]:
    """Leaves by their paths in FieldsV1, identity left out."""
    if path in IDENTITY:
        return {}
    if isinstance(value, dict) and value:
        return {at: leaf for key, inner in value.items() for at, leaf in flatten(inner, (*path, f"f:{key}")).items()}
    keys = LISTS.get(path[-1][2:]) if path else None
    if isinstance(value, list) and value and keys:
        flat: dict[Path, Any] = {}
        for item in value:
            item = {**item, "protocol": item.get("protocol", "TCP")} if "protocol" in keys else item
            mark = "k:" + json.dumps({key: item[key] for key in keys}, separators=(",", ":"))
            flat |= flatten(item, (*path, mark))
        return flat
    return {path: value}


def unflatten(fields: Mapping[Path, Any]) -> Json:
    """The inverse."""
    built: Json = _built(fields)
    return built


def _built(fields: Mapping[Path, Any]) -> Any:
    if () in fields:
        return fields[()]
    heads: dict[str, dict[Path, Any]] = {}
    for path, value in fields.items():
        heads.setdefault(path[0], {})[path[1:]] = value
    built = {head: _built(rest) for head, rest in heads.items()}
    if any(head.startswith("k:") for head in built):
        return list(built.values())
    return {head[2:]: value for head, value in built.items()}


def _tree(paths: set[Path]) -> Json:
    tree: Json = {}
    for path in sorted(paths):
        node = tree
        for part in path:
            node = node.setdefault(part, {".": {}} if part.startswith("k:") else {})
    return tree


def dark(name: str) -> Callable[[Call], None]:
    """A fault: no call comes back."""

    def raise_it(call: Call) -> None:
        raise UnreachableError(name, "no answer within 3 s")

    return raise_it


def on_write(number: int, error: BaseException) -> Callable[[Call], None]:
    """A fault at the n-th write, counted from 1."""
    seen = 0

    def raise_it(call: Call) -> None:
        nonlocal seen
        seen += call.method != "GET"
        if seen == number and call.method != "GET":
            raise error

    return raise_it
