"""One member as placement sees it: what is held, how it answers and what people said of it, in one frozen value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from federation.informer.hold.holding import Holding
from federation.informer.hold.names import present
from federation.informer.hold.using import fresh
from federation.informer.reflect.reflector import Standing
from federation.informer.reflect.resource import SERVICES
from federation.informer.settings import FleetPolicy
from federation.kubeconfig.access import BrokenMember, MemberSpec
from federation.kubeconfig.listing import Member
from federation.members.health import Health
from federation.quantity import requested
from federation.snapshot import BASE_RESOURCES, Ages, Cluster, Headroom, MemberState, Nodes, frozen
from prewarm.settings import ClusterPolicy
from prewarm.settings import Headroom as DeclaredHeadroom

REGION_LABEL = "topology.kubernetes.io/region"
NODE_PODS = 110
"""Pods that a kubelet takes unless it is told otherwise; for nodes that are not there yet."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Cordon:
    """A person's word that nothing new goes to a member."""

    owner: str
    reason: str
    at: float


def empty_nodes() -> Nodes:
    """No nodes."""
    amounts = np.zeros((0, len(BASE_RESOURCES)), dtype=np.int64)
    return Nodes(
        BASE_RESOURCES,
        (),
        np.zeros(0, dtype=np.int32),
        np.zeros(0, dtype=np.int32),
        amounts,
        amounts,
        np.zeros((0, 2)),
        np.zeros((0, 0), dtype=np.int16),
        np.zeros(0, dtype=np.bool_),
        (),
    )


def broken_cluster(member: BrokenMember, since: float) -> Cluster:
    """A context that cannot become a member, shown with the reason."""
    return Cluster(member.id, member.context, MemberState.DARK, since, empty_nodes(), why=member.why)


def twins(members: Iterable[tuple[MemberSpec, MemberState]]) -> dict[str, str]:
    """Members that lead to the API server of another one, by id, with the one that stands for them.

    Several contexts of one cluster (other users, other namespaces) are usual in a kubeconfig. Counted each for itself,
    its room would be promised twice, and what runs there be taken away through one of them as too many. The first id
    that is let in stands for all.
    """
    found: dict[tuple[str, str | None, str | None], str] = {}
    others = {}
    for spec, _ in sorted(members, key=lambda one: (one[1] is MemberState.REFUSED, one[0].id)):
        first = found.setdefault((spec.server.rstrip("/"), spec.tls_server_name, spec.proxy_url), spec.id)
        if first != spec.id:
            others[spec.id] = first
    return others


def twin_cluster(cluster: Cluster, other: str) -> Cluster:
    """A member of which nothing counts, since it is another one under a second name; nothing goes there by this one."""
    why = f"is the same API server as {other}, which stands for it"
    return Cluster(cluster.name, cluster.context, MemberState.CORDONED, cluster.since, empty_nodes(), why=why)


def cluster_of(
    member: Member, holding: Holding, health: Health, *, policy: FleetPolicy, cordon: Cordon | None, now: float
) -> Cluster:
    """The member as of now."""
    said = policy.of(member.spec.id, member.spec.context)
    state, since, why = _state(health, said, cordon)
    nodes = holding.columns.nodes(
        now,
        usage_stale_s=policy.placement.metrics_stale_s,
        pods_known=holding.seen_at("pods") is not None,
    )
    return Cluster(
        name=member.spec.id,
        context=member.spec.context,
        state=state,
        since=since,
        nodes=nodes,
        region=said.region or _region(nodes),
        price=said.price,
        labels=frozen(member.labels),
        quotas=tuple(holding.quotas[key].quota for key in sorted(holding.quotas)),
        running=holding.instances.running,
        present=present(holding.known_names),
        headroom=_headroom(said.autoscale_headroom),
        start_s=holding.starts.median_s(now + (health.skew_s or 0.0)),
        ages=_ages(holding, health),
        unserved=_unserved(holding),
        use=fresh(holding.use, now, policy.placement.metrics_stale_s),
        why=why,
        notes=(*member.spec.warnings, *health.notes, *_notes(holding)),
    )


def _state(health: Health, said: ClusterPolicy, cordon: Cordon | None) -> tuple[MemberState, float, str | None]:
    """A cordon shows only on a member that answers: that one is in the dark matters more."""
    if health.state not in (MemberState.READY, MemberState.SLOW) or not (cordon or said.cordoned):
        return health.state, health.since, health.why
    if cordon is None:
        return MemberState.CORDONED, health.since, "cordoned by configuration"
    return MemberState.CORDONED, cordon.at, f"cordoned by {cordon.owner}: {cordon.reason}"


def _region(nodes: Nodes) -> str | None:
    """The region that all nodes name."""
    regions = {node_class.label(REGION_LABEL) for node_class in nodes.classes}
    return regions.pop() if len(regions) == 1 else None


def _headroom(declared: DeclaredHeadroom | None) -> Headroom | None:
    if declared is None:
        return None
    allocatable = {
        "cpu": requested("cpu", declared.cpu),
        "memory": requested("memory", declared.memory),
        "pods": NODE_PODS,
    }
    if declared.gpus:
        allocatable["nvidia.com/gpu"] = declared.gpus
    return Headroom(declared.nodes, frozen(allocatable), declared.start_s)


def _ages(holding: Holding, health: Health) -> Ages:
    return Ages(
        answer=health.answered_at,
        nodes=holding.seen_at("nodes"),
        pods=holding.seen_at("pods"),
        quotas=holding.seen_at("resourcequotas"),
        metrics=holding.usage_at,
    )


def _unserved(holding: Holding) -> frozenset[str]:
    absent = holding.reflectors[SERVICES.name].report.standing is Standing.ABSENT
    return frozenset({"knative"}) if absent else frozenset()


def _notes(holding: Holding) -> list[str]:
    notes = []
    for name, reflector in holding.reflectors.items():
        standing = reflector.report.standing
        if standing is Standing.FORBIDDEN:
            notes.append(f"{name} unknown: may not be read ({reflector.report.why})")
        elif standing is Standing.FAILING:
            notes.append(f"{name} not renewed: {reflector.report.why}")
    if holding.usage_why is not None:
        notes.append(f"usage unavailable: {holding.usage_why}")
    return [*notes, *_shortened(_unreadable(holding))]


def _unreadable(holding: Holding) -> list[str]:
    found = [f"node {name} unknown: {why}" for name, why in sorted(holding.table.unreadable.items())]
    found += [f"quota {key} unknown: {facts.unreadable}" for key, facts in holding.quotas.items() if facts.unreadable]
    if pods := int(holding.table.unreadable_pods.sum()):
        found.append(f"requests of {pods} pods unknown; their nodes take nothing")
    return found


def _shortened(texts: list[str]) -> list[str]:
    more = len(texts) - _SHOWN
    return texts if more <= 0 else [*texts[:_SHOWN], f"and {more} more that cannot be read"]
