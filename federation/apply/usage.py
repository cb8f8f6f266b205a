"""What is there and who refers to it: the reads that come before anything is removed.

Deployments, Jobs and Knative Services of a namespace are looked at, ours or not; a kind that the member does not know
has none. What others need is not removed, even if we made it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from federation.apply.state.objects import WORKLOAD_KINDS, Ref, collection_of, path_of
from federation.manifest.fields import Json
from federation.manifest.read import read_manifest
from federation.members.api import Api, RefusedError
from prewarm.domain import InputError

KINDS = {
    "namespace": "Namespace",
    "serviceaccount": "ServiceAccount",
    "secret": "Secret",
    "configmap": "ConfigMap",
    "persistentvolumeclaim": "PersistentVolumeClaim",
}
"""Kinds of v1 that a workload may need, by the word of `Workload.needs`."""


async def read_object(api: Api, ref: Ref) -> Json | None:
    """The live object, None where there is none (or where its kind is not known there)."""
    try:
        return await api.call("GET", path_of(ref))
    except RefusedError as error:
        if error.status == 404:
            return None
        raise


async def referred_to(api: Api, namespace: str, *, apart: Collection[Ref] = ()) -> dict[Ref, str]:
    """Everything that workloads in the namespace, apart from these, refer to, with one that does."""
    used: dict[Ref, str] = {}
    for version, kind in WORKLOAD_KINDS.values():
        for item in await _items(api, version, kind, namespace):
            live = {**item, "apiVersion": version, "kind": kind}  # items of a list do not say what they are
            ref = Ref(version, kind, namespace, live["metadata"]["name"])
            if ref not in apart and not live["metadata"].get("deletionTimestamp"):
                used |= {need: str(ref) for need in needs_of(live)}
    return used


def needs_of(live: Json) -> tuple[Ref, ...]:
    """What a live workload refers to in its namespace (itself left out); nothing where it is unreadable."""
    try:
        needs = read_manifest(live, "live").workload.needs
    except InputError:
        return ()
    return tuple(ref for ref in needed_refs(needs) if ref.kind != "Namespace")


def needed_refs(needs: Mapping[str, Iterable[str]]) -> tuple[Ref, ...]:
    """`Workload.needs` as references, sorted; kinds that cannot be copied are left out."""
    found = []
    for word, names in needs.items():
        kind, _, namespace = word.partition(":")
        if kind in KINDS:
            found += [Ref("v1", KINDS[kind], namespace, name) for name in names]
    return tuple(sorted(found))


async def _items(api: Api, version: str, kind: str, namespace: str) -> list[Json]:
    try:
        answer = await api.call("GET", collection_of(version, kind, namespace))
    except RefusedError as error:
        if error.status == 404:
            return []
        raise
    return list(answer.get("items") or ())
