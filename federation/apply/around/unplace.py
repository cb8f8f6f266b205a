"""A workload's end: taken away where we put it, with its route and what was copied for it and serves nobody else.

Whether an object may go is judged on the live object (`plan.why_not_removed`), once when this is planned and again in
the moment of the delete. What another workload in the namespace still refers to is not even proposed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from federation.apply.around.traffic import GATEWAY
from federation.apply.rollout.work import Rollout, Stage, Work
from federation.apply.state.objects import WORKLOAD_KINDS, Ref
from federation.apply.state.owned import is_ours
from federation.apply.usage import needs_of, read_object, referred_to
from federation.manifest.fields import Json
from federation.members.api import Api, RefusedError


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
    found = [*await _route(api, Ref(GATEWAY, "HTTPRoute", namespace, name)), *found]
    mine = [(ref, live) for ref, live in found if is_ours(live)]
    kept = [(ref, "was not made by prewarm") for ref, live in found if not is_ours(live)]
    wanted = {ref for _, live in mine for ref in needs_of(live)} | set(companions)
    used = await referred_to(api, namespace, apart={ref for ref, _ in mine}) if wanted else {}
    kept += [(ref, f"{used[ref]} needs it") for ref in sorted(wanted) if ref in used]
    gone = (*(ref for ref, _ in mine), *sorted(wanted - set(used)))
    return Ending(Work(api.name, Stage.DRAIN, gone=gone) if gone else None, tuple(kept))


async def _route(api: Api, ref: Ref) -> list[tuple[Ref, Json]]:
    """Its route here, first to go so that no call is sent where nothing is left. Who may not read routes wrote none."""
    try:
        live = await read_object(api, ref)
    except RefusedError as error:
        if error.status == 403:
            return []
        raise
    return [] if live is None or not is_ours(live) else [(ref, live)]


def rollout_to_end(placement_id: str, key: str, endings: Iterable[Ending]) -> Rollout:
    """The rollout that only takes away."""
    works = tuple(ending.work for ending in endings if ending.work is not None)
    return Rollout(placement_id, key, works)
