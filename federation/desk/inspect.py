"""A fleet looked at once, for a person: what each member is, and what stands in the way of working with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any

from federation.desk.shapes import cluster_json
from federation.kubeconfig.source import Places
from federation.live import LiveFleet, live_fleet
from federation.members.api import Api, MemberError
from federation.placement.reserve.book import EMPTY
from federation.snapshot import Cluster, MemberState, Snapshot
from prewarm.domain import InputError
from prewarm.settings import Settings

ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
READS = (("", "nodes"), ("", "pods"), ("", "namespaces"), ("", "resourcequotas"), ("apps", "deployments"))
"""Group and resource of what the informer lists and watches everywhere."""
WRITES = (("apps", "deployments"), ("batch", "jobs"), ("serving.knative.dev", "services"))


async def look_at(
    places: Places, settings: Settings, environ: Mapping[str, str], *, wait_s: float
) -> dict[str, list[Any]]:
    """Every member as the API shows it, and the notices of the files. InputError where there is no member."""
    async with live_fleet(places, settings, environ) as fleet:
        await fleet.settled(wait_s)
        now = time.time()
        shown = [cluster_json(one, EMPTY, now) for one in _members(fleet.snapshot(now))]
        return {"clusters": shown, "notices": list((await fleet.listing()).notices)}


async def check_fleet(
    places: Places, settings: Settings, environ: Mapping[str, str], *, wait_s: float, namespaces: tuple[str, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """By member, each thing that a person should know before working with it; empty where all is well."""
    async with live_fleet(places, settings, environ) as fleet:
        await fleet.settled(wait_s)
        snapshot = fleet.snapshot(time.time())
        rights = await _rights_of_all(fleet, snapshot, namespaces)
        notices = (await fleet.listing()).notices
        found = {one.name: (*_findings(one, snapshot), *rights.get(one.name, ())) for one in _members(snapshot)}
        return {"files": notices, **found} if notices else found


def _members(snapshot: Snapshot) -> tuple[Cluster, ...]:
    if not snapshot.clusters:
        raise InputError("fleet: has no members; name a kubeconfig with --kubeconfig")
    return snapshot.clusters


def _findings(one: Cluster, snapshot: Snapshot) -> Iterable[str]:
    if one.state is not MemberState.READY:
        yield f"{one.state}: {one.why or 'no reason told'}"
    if one.state in (MemberState.DARK, MemberState.REFUSED):
        return
    yield from one.notes
    if one.ages.nodes is None or one.ages.pods is None:
        yield "nodes and pods were not listed in time"
    elif not (one.nodes.count * one.nodes.schedulable).sum():
        yield "no node takes work"
    if one.region is None:
        yield "region unknown: label nodes with topology.kubernetes.io/region, or say it in [[cluster]]"
    elif len(snapshot.clusters) > 1 and not _linked(one.name, snapshot):
        yield "no [[link]] tells a delay to another cluster; closeness to callers counts as unknown"


def _linked(name: str, snapshot: Snapshot) -> bool:
    links = snapshot.links
    row = links.names.index(name)
    return any(delay == delay for at, delay in enumerate(links.delay_ms[row].tolist()) if at != row)


async def _rights_of_all(
    fleet: LiveFleet, snapshot: Snapshot, namespaces: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    clients = fleet.members.clients
    away = (MemberState.DARK, MemberState.REFUSED)
    names = [one.name for one in snapshot.clusters if one.name in clients and one.state not in away]
    found = await asyncio.gather(*(_missing_rights(clients[name], namespaces) for name in names))
    return dict(zip(names, found, strict=True))


async def _missing_rights(api: Api, namespaces: tuple[str, ...]) -> tuple[str, ...]:
    """What may not be done, asked of the member itself."""
    asked = [(verb, group, resource, "") for group, resource in READS for verb in ("list", "watch")]
    asked += [("patch", group, resource, space) for space in namespaces for group, resource in WRITES]
    try:
        answers = await asyncio.gather(*(_may(api, *one) for one in asked))
    except MemberError as error:
        return (f"rights unknown: {error}",)
    return tuple(
        f"may not {verb} {resource}{'.' + group if group else ''}{' in ' + space if space else ''}"
        for (verb, group, resource, space), allowed in zip(asked, answers, strict=True)
        if not allowed
    )


async def _may(api: Api, verb: str, group: str, resource: str, namespace: str) -> bool:
    attributes = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await api.call("POST", ACCESS, body=body)
    return bool((answer.get("status") or {}).get("allowed"))
