"""A workload's end: taken away where we put it, together with what was copied for it and serves nobody else.

Whether an object may go is judged on the live object (`plan.why_not_removed`), once when this is planned and again in
the moment of the delete. What another workload in the namespace still refers to is not even proposed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from federation.apply.around.dependencies import needed_refs
from federation.apply.rollout.work import Rollout, Stage, Work
from federation.apply.state.objects import WORKLOAD_KINDS, Ref, collection_of
from federation.apply.state.owned import is_ours
from federation.apply.writer import read_object
from federation.manifest.fields import Json
from federation.manifest.read import read_manifest
from federation.members.api import Api, RefusedError
from prewarm.domain import InputError


@dataclass(frozen=True, slots=True)
class Ending:
    """What goes in one member, and what stays with the reason."""

    work: Work | None
    kept: tuple[tuple[Ref, str], ...] = ()


async def ending_of(api: Api, key: str, *, companions: Iterable[Ref] = ()) -> Ending:
    """What to remove in one member for the workload `namespace/name`; MemberError where it cannot be asked.

    companions: objects of the same file that may go as well, if we made them.
    """
    namespace, _, name = key.partition("/")
    refs = [Ref(version, kind, namespace, name) for version, kind in WORKLOAD_KINDS.values()]
    found = [(ref, live) for ref in refs if (live := await read_object(api, ref)) is not None]
    mine = [(ref, live) for ref, live in found if is_ours(live)]
    kept = [(ref, "was not made by prewarm") for ref, live in found if not is_ours(live)]
    wanted = {ref for _, live in mine for ref in needs_of(live)} | set(companions)
    used = await needed_by_others(api, namespace, {ref for ref, _ in mine}) if wanted else {}
    kept += [(ref, f"{used[ref]} needs it") for ref in sorted(wanted) if ref in used]
    gone = (*(ref for ref, _ in mine), *sorted(wanted - set(used)))
    return Ending(Work(api.name, Stage.DRAIN, gone=gone) if gone else None, tuple(kept))


def rollout_to_end(placement_id: str, key: str, endings: Iterable[Ending]) -> Rollout:
    """The rollout that only takes away."""
    works = tuple(ending.work for ending in endings if ending.work is not None)
    return Rollout(placement_id, key, works)


def needs_of(live: Json) -> tuple[Ref, ...]:
    """What a live workload refers to in its namespace (itself left out); nothing where it is unreadable."""
    try:
        needs = read_manifest(live, "live").workload.needs
    except InputError:
        return ()
    return tuple(ref for ref in needed_refs(needs) if ref.kind != "Namespace")


async def needed_by_others(api: Api, namespace: str, mine: set[Ref]) -> dict[Ref, str]:
    """Everything that workloads in the namespace refer to, apart from `mine`, with one that does.

    Deployments, Jobs and Knative Services are looked at, ours or not; a kind that the member does not know has none.
    """
    used: dict[Ref, str] = {}
    for version, kind in WORKLOAD_KINDS.values():
        for item in await _items(api, version, kind, namespace):
            live = {**item, "apiVersion": version, "kind": kind}  # items of a list do not say what they are
            ref = Ref(version, kind, namespace, live["metadata"]["name"])
            if ref not in mine:
                used |= {need: str(ref) for need in needs_of(live)}
    return used


async def _items(api: Api, version: str, kind: str, namespace: str) -> list[Json]:
    try:
        answer = await api.call("GET", collection_of(version, kind, namespace))
    except RefusedError as error:
        if error.status == 404:
            return []
        raise
    return list(answer.get("items") or ())
