"""What a workload needs in its namespace, copied from a member that has it (`--with-dependencies`).

Copies are ours: marked with where they came from, updated and removed by us only. What the target already has and we
did not put there is left as it is. Claims are created empty, since data does not travel; values of secrets pass through
memory and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from federation.apply.state.objects import ref_of
from federation.apply.state.owned import is_ours
from federation.apply.usage import needed_refs
from federation.apply.writer import Writer
from federation.labels import COPIED_FROM
from federation.manifest.fields import Json
from federation.manifest.share import marked
from federation.members.api import MemberError

_CLAIM_FIELDS = ("accessModes", "resources", "storageClassName", "volumeMode")
_TOKEN_TYPE = "kubernetes.io/service-account-token"  # noqa: S105  a type's name


@dataclass(frozen=True, slots=True)
class Copies:
    """Objects to be made in targets, and what a person should know: what could not be copied, and what is not."""

    objects: tuple[Json, ...]
    notes: tuple[str, ...] = ()


async def read_copies(source: Writer, needs: Mapping[str, Iterable[str]]) -> Copies:
    """What is needed, as `source` has it; MemberError where it refuses or does not answer."""
    objects, notes = [], []
    for ref in needed_refs(needs):
        live = await source.read(ref)
        if live is None:
            notes.append(f"{ref} is needed and is not in {source.member}")
        elif live.get("type") == _TOKEN_TYPE:
            notes.append(f"{ref} is a token of {source.member} and is worth nothing elsewhere; it is not copied")
        else:
            objects.append(copied(live, source.member))
            if ref.kind == "PersistentVolumeClaim":
                notes.append(f"{ref} is created empty; its data stays in {source.member}")
    return Copies(tuple(objects), tuple(notes))


async def missing_there(target: Writer, copies: Iterable[Json]) -> tuple[Json, ...]:
    """Those that the target lacks or that we put there; what others put there is good as it is."""
    wanted = []
    for body in copies:
        live = await target.read(ref_of(body))
        if live is None or is_ours(live):
            wanted.append(body)
    return tuple(wanted)


async def beside(
    writers: Callable[[str], Writer], targets: Iterable[str], copies: Sequence[Json]
) -> dict[str, tuple[Json, ...]]:
    """What each target gets beside the workload. One that does not answer is left to the rollout, which refuses it."""
    found: dict[str, tuple[Json, ...]] = {}
    for member in targets:
        try:
            found[member] = await missing_there(writers(member), copies)
        except MemberError:
            found[member] = tuple(copies)
    return found


def copied(live: Json, source: str) -> Json:
    """A live object as it is made elsewhere: without what the source's server and controllers added."""
    body = {name: value for name, value in live.items() if name not in ("status", "metadata")}
    meta = {name: live["metadata"][name] for name in ("name", "namespace") if name in live["metadata"]}
    if live["kind"] == "Namespace":
        body.pop("spec", None)
    elif live["kind"] == "ServiceAccount":
        body.pop("secrets", None)
    elif live["kind"] == "PersistentVolumeClaim":
        body["spec"] = {name: live["spec"][name] for name in _CLAIM_FIELDS if name in live["spec"]}
    return marked({**body, "metadata": meta}, **{COPIED_FROM: source})
