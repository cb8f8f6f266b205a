"""One member's objects read and written: server-side apply under our field manager, and nothing but that.

Every write is strict (an unknown field is an error, not a loss), carries the content type that the API needs, and takes
a field from another owner only where a person said so. The rehearsing writer asks the server to do all but keep it, so
that admission and validation speak as they would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from federation.apply.state.objects import Ref, path_of, ref_of
from federation.apply.state.plan import why_not_removed
from federation.apply.usage import read_object, referred_to
from federation.labels import FIELD_MANAGER
from federation.members.api import APPLY, Api, MemberError, RefusedError, UnreachableError

Json = dict[str, Any]

_OWNER = re.compile(r'conflict with "([^"]+)"')
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Contest:
    """A field that somebody else owns with another value."""

    owner: str
    field: str


class ContestedError(MemberError):
    """Others own fields that would change; nothing was written."""

    def __init__(self, member: str, ref: Ref, contests: tuple[Contest, ...]) -> None:
        told = ", ".join(f"{one.field} is owned by {one.owner}" for one in contests)
        super().__init__(member, f"{ref}: {told}")
        self.contests = contests


class Writer(Protocol):
    """Reads and writes one member's objects. MemberError where the member refuses or does not answer."""

    @property
    def member(self) -> str:
        """The member's id."""
        ...

    async def read(self, ref: Ref) -> Json | None:
        """The live object, None where there is none."""
        ...

    async def apply(self, body: Json, *, force: bool = False) -> Json:
        """The object after our fields were applied; ContestedError where others own them and `force` is not given."""
        ...

    async def remove(self, ref: Ref) -> str | None:
        """Delete what we made; the reason where the live object must stay."""
        ...

    async def users(self, namespace: str) -> Mapping[Ref, str]:
        """Everything that workloads in a namespace refer to, with one that does."""
        ...


class ServerWriter:
    """Writes for good."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @property
    def member(self) -> str:
        """The member's id."""
        return self._api.name

    async def read(self, ref: Ref) -> Json | None:
        """The live object, None where there is none (or where its kind is not known there)."""
        return await read_object(self._api, ref)

    async def apply(self, body: Json, *, force: bool = False) -> Json:
        """The object after our fields were applied."""
        return await _apply(self._api, body, force=force, extra={})

    async def remove(self, ref: Ref) -> str | None:
        """Delete what we made, if the live object still shows it; the reason where it must stay."""
        return await _remove(self._api, ref, [])

    async def users(self, namespace: str) -> Mapping[Ref, str]:
        """Everything that workloads in a namespace refer to, with one that does."""
        return await referred_to(self._api, namespace)


@dataclass(slots=True)
class RehearsalWriter:
    """Asks the server for everything, keeps nothing. What stands in a namespace that is not made yet goes unasked."""

    api: Api
    _spaces: set[str] = field(default_factory=set)

    @property
    def member(self) -> str:
        """The member's id."""
        return self.api.name

    async def read(self, ref: Ref) -> Json | None:
        """The live object, None where there is none."""
        return await read_object(self.api, ref)

    async def apply(self, body: Json, *, force: bool = False) -> Json:
        """The object as it would be."""
        ref = ref_of(body)
        if ref.namespace in self._spaces:
            return body
        after = await _apply(self.api, body, force=force, extra={"dryRun": "All"})
        if ref.kind == "Namespace" and await read_object(self.api, ref) is None:
            self._spaces.add(ref.name)
        return after

    async def remove(self, ref: Ref) -> str | None:
        """Whether it could be deleted."""
        return await _remove(self.api, ref, ["All"])

    async def users(self, namespace: str) -> Mapping[Ref, str]:
        """Everything that workloads in a namespace refer to, with one that does."""
        return await referred_to(self.api, namespace)


def writers_of(
    clients: Callable[[], Mapping[str, Api]], *, kind: Callable[[Api], Writer] = ServerWriter
) -> Callable[[str], Writer]:
    """A writer for each member that `clients` holds when it is asked for; UnreachableError for any other."""

    def find(member: str) -> Writer:
        api = clients().get(member)
        if api is None:
            raise UnreachableError(member, "is not a member of the fleet")
        return kind(api)

    return find


async def _apply(api: Api, body: Json, *, force: bool, extra: Json) -> Json:
    ref = ref_of(body)
    try:
        return await _patch(api, ref, body, force=force, extra=extra)
    except ContestedError as error:
        # what our own /scale set is ours to set again, though the server knows the two apart
        if force or {one.owner for one in error.contests} != {FIELD_MANAGER}:
            raise
        return await _patch(api, ref, body, force=True, extra=extra)


async def _patch(api: Api, ref: Ref, body: Json, *, force: bool, extra: Json) -> Json:
    query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict", **extra}
    query |= {"force": "true"} if force else {}
    try:
        return await api.call("PATCH", path_of(ref), query=query, body=body, content_type=APPLY)
    except RefusedError as error:
        if contests := contests_of(error):
            raise ContestedError(api.name, ref, contests) from error
        if error.status == 404 and "requested resource" in error.message:
            raise MemberError(api.name, f"{ref}: {ref.api_version} is not known there") from error
        raise


async def _remove(api: Api, ref: Ref, dry_run: list[str]) -> str | None:
    """The version that was judged is the one that is deleted; one that changed meanwhile is judged again.

    Of a delete with a body the server reads nothing in the query, so a rehearsal is asked for in the body.
    """
    for left in reversed(range(_TRIES)):
        live = await read_object(api, ref)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        if refusal := why_not_removed(ref, live):
            return refusal
        meta = live["metadata"]
        judged = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": judged}
        options |= {"propagationPolicy": "Background"} | ({"dryRun": dry_run} if dry_run else {})
        try:
            await api.call("DELETE", path_of(ref), body=options)
        except RefusedError as error:
            if error.status == 404:
                return None
            if error.status != 409 or not left:
                raise
        else:
            return None
    return None


def contests_of(error: RefusedError) -> tuple[Contest, ...]:
    """Who owns what, of a 409 of server-side apply; empty for any other refusal."""
    if error.status != 409:
        return ()
    found = []
    for cause in error.causes:
        if cause.get("reason") == "FieldManagerConflict":
            owner = _OWNER.search(str(cause.get("message", "")))
            found.append(Contest(owner[1] if owner else "somebody", str(cause.get("field", "")).lstrip(".")))
    return tuple(found)
