"""From what is wanted and what was seen to what must be done in one cluster: a value that can be read and compared.

Nothing is done twice: an object that already is as wanted, and ours, is kept without a call. Nothing of others is
removed: a delete is planned only for what the live object shows to be made by us and by nobody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from federation.apply.state.diff import Change, changes_to
from federation.apply.state.objects import Ref, is_secret, making_order, ref_of, removing_order
from federation.apply.state.owned import is_ours, other_owners, owned_part
from federation.labels import APPLIED

Json = dict[str, Any]

LASTING = frozenset({"Namespace", "PersistentVolumeClaim"})
"""Kinds whose removal would take along what others put there, or data; never removed."""


class Verb(StrEnum):
    """What is done with one object; `keep` it is as wanted, `leave` it must not be touched."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    KEEP = "keep"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Step:
    """One object: what is done and what that changes. `body` is what is applied."""

    verb: Verb
    ref: Ref
    body: Json | None = None
    changes: tuple[Change, ...] = ()
    why: str | None = None

    @property
    def writes(self) -> bool:
        """Whether it needs a call."""
        return self.verb in (Verb.CREATE, Verb.UPDATE, Verb.DELETE)


def plan_objects(wanted: Iterable[Json], gone: Iterable[Ref], observed: Mapping[Ref, Json | None]) -> tuple[Step, ...]:
    """Steps in their order: what is referred to is made first, what refers is removed first."""
    making = [_step_to_make(body, observed.get(ref_of(body))) for body in sorted(wanted, key=making_order)]
    removing = [_step_to_remove(ref, observed.get(ref)) for ref in sorted(gone, key=removing_order)]
    return (*making, *removing)


def _step_to_make(body: Json, live: Json | None) -> Step:
    ref = ref_of(body)
    if live is None:
        return Step(Verb.CREATE, ref, body)
    owned = owned_part(live)
    again = _digest(body) is not None and _digest(body) == _digest(owned)
    changes = changes_to(live, body, owned, again=again, secret=is_secret(ref))
    return Step(Verb.UPDATE if changes else Verb.KEEP, ref, body, changes)


def _digest(body: Json) -> str | None:
    digest: str | None = (body["metadata"].get("annotations") or {}).get(APPLIED)
    return digest


def _step_to_remove(ref: Ref, live: Json | None) -> Step:
    if live is None:
        return Step(Verb.KEEP, ref, why="is not there")
    refusal = why_not_removed(ref, live)
    return Step(Verb.LEAVE, ref, why=refusal) if refusal else Step(Verb.DELETE, ref)


def why_not_removed(ref: Ref, live: Json) -> str | None:
    """Why the live object must stay; None where it may go."""
    if not is_ours(live):
        return "was not made by prewarm"
    if others := other_owners(live):
        return f"fields of it are owned by {', '.join(others)}"
    if ref.kind == "Namespace":
        return "removing a namespace would remove what others keep in it"
    if ref.kind in LASTING:
        return "holds data; remove it by hand"
    return None


def described(steps: Iterable[Step]) -> str:
    """The plan for people, a line for each object and for each field under it."""
    lines = []
    for step in steps:
        lines.append(f"{step.verb} {step.ref}" + (f" ({step.why})" if step.why else ""))
        lines += [f"    {change}" for change in step.changes]
    return "\n".join(lines)
