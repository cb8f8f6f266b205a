"""Pool decisions carried out: the number of instances of a workload that runs in a cluster already.

A Deployment is scaled through its /scale subresource by server-side apply. That needs the right to scale and not the
right to write Deployments (which is the right to run anything), it cannot create anything, our claim is exactly one
field, and another owner of that field (an autoscaler, a GitOps tool) is told by name instead of being overwritten. A
Knative Service has no such subresource; one that we made has its floor in its template, so it is applied again with
another floor, which makes a new Revision.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping

from federation.apply.state.objects import WORKLOAD_KINDS, Ref, path_of
from federation.apply.state.owned import is_ours, owned_part
from federation.apply.usage import read_object
from federation.apply.writer import ContestedError, ServerWriter, contests_of
from federation.labels import FIELD_MANAGER
from federation.manifest.fields import Json
from federation.manifest.read import AUTOSCALING
from federation.members.api import APPLY, Api, MemberError, RefusedError
from prewarm.domain import Decision, Mode

log = logging.getLogger("federation.apply")
_FLOOR = f"{AUTOSCALING}/min-scale"


class ClusterApplier:
    """Carries pool decisions out. `clients`: the members there are now; `refused`: why each last one was not applied.

    at_once: calls to one member at a time. member_s: for all calls to one member of one tick.
    """

    def __init__(self, clients: Callable[[], Mapping[str, Api]], *, at_once: int = 8, member_s: float = 10.0) -> None:
        self._clients = clients
        self._at_once = at_once
        self._member_s = member_s
        self.refused: dict[tuple[str, str], str] = {}

    async def apply(self, decisions: tuple[Decision, ...]) -> frozenset[str]:
        """The ids of those that were carried out; a member that does not answer costs the others nothing."""
        clients = self._clients()
        by_member: dict[str, list[Decision]] = defaultdict(list)
        for decision in decisions:
            if decision.kind == "pool" and decision.held is None and decision.mode is Mode.ACTIVE:
                by_member[_member_of(decision, clients)].append(decision)
        done: set[str] = set()
        async with asyncio.TaskGroup() as group:
            for member, mine in by_member.items():
                if (api := clients.get(member)) is None:
                    self._refuse(mine, member, "is not a member of the fleet")
                else:
                    group.create_task(self._member(api, mine, done), name=f"scale {member}")
        return frozenset(done)

    async def _member(self, api: Api, decisions: list[Decision], done: set[str]) -> None:
        free = asyncio.Semaphore(self._at_once)

        async def one(decision: Decision) -> None:
            async with free:
                try:
                    await scale(api, decision.function, decision.to_count)
                except MemberError as error:
                    self._refuse([decision], api.name, str(error))
                else:
                    self.refused.pop((decision.function, api.name), None)
                    done.add(decision.id)

        try:
            async with asyncio.timeout(self._member_s), asyncio.TaskGroup() as group:
                for decision in decisions:
                    group.create_task(one(decision))
        except TimeoutError:
            late = [decision for decision in decisions if decision.id not in done]
            self._refuse(late, api.name, f"{api.name}: no answer within {self._member_s:g} s")

    def _refuse(self, decisions: list[Decision], member: str, why: str) -> None:
        for decision in decisions:
            key = (decision.function, member)
            if self.refused.get(key) != why:
                log.warning("not scaled", extra={"function": decision.function, "cluster": member, "why": why})
            self.refused[key] = why


def _member_of(decision: Decision, clients: Mapping[str, Api]) -> str:
    """The decision's cluster; with a single member there is nothing to choose."""
    return decision.cluster or (next(iter(clients)) if len(clients) == 1 else "(no cluster)")


async def scale(api: Api, key: str, replicas: int) -> None:
    """Set the instances of a workload; MemberError where it is not there, is not ours to set, or others set it."""
    namespace, _, name = key.partition("/")
    try:
        await _scale_deployment(api, Ref(*WORKLOAD_KINDS["deployment"], namespace, name), replicas)
    except RefusedError as error:
        if error.status != 404:
            raise
        await _raise_floor(api, Ref(*WORKLOAD_KINDS["knative"], namespace, name), replicas)


async def _scale_deployment(api: Api, ref: Ref, replicas: int) -> None:
    meta = {"name": ref.name, "namespace": ref.namespace}
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": meta, "spec": {"replicas": replicas}}
    try:
        await _patch_scale(api, ref, body, {})
    except RefusedError as error:
        contests = contests_of(error)
        if not contests:
            raise
        if {one.owner for one in contests} != {FIELD_MANAGER}:  # by what we placed, the number is ours already
            raise ContestedError(api.name, ref, contests) from error
        await _patch_scale(api, ref, body, {"force": "true"})


async def _patch_scale(api: Api, ref: Ref, body: Json, extra: Mapping[str, str]) -> None:
    query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict", **extra}
    await api.call("PATCH", f"{path_of(ref)}/scale", query=query, body=body, content_type=APPLY)


async def _raise_floor(api: Api, ref: Ref, replicas: int) -> None:
    live = await read_object(api, ref)
    if live is None:
        raise MemberError(api.name, f"there is no Deployment and no Knative Service {ref.namespace}/{ref.name}")
    if not is_ours(live):
        raise MemberError(api.name, f"Knative {ref} was not made by prewarm, so its floor is not written here")
    body = owned_part(live)
    notes = body["spec"]["template"].setdefault("metadata", {}).setdefault("annotations", {})
    if notes.get(_FLOOR) == str(replicas):
        return
    notes[_FLOOR] = str(replicas)
    body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]  # refused if it changed since it was read
    await ServerWriter(api).apply(body)
