"""Calls divided over a placement's parts, as a Gateway API HTTPRoute with one weighted backend for each cluster.

Where a cluster's part is reached is the installation's affair (a Service for each cluster, a ServiceImport), so the
backend's name is a pattern. Weights are whole numbers that sum to 1000, which the standard divides by their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from federation.apply.rollout.work import Stage, Work
from federation.manifest.fields import Json
from federation.manifest.share import divide, marked
from federation.members.api import Api, MemberError, RefusedError
from federation.placement.answer import Share
from prewarm.domain import InputError

GATEWAY = "gateway.networking.k8s.io/v1"
WHOLE = 1_000
"""What the weights of a route sum to."""
_FINE = 1_000_000


@dataclass(frozen=True, slots=True)
class Route:
    """How traffic to a workload is routed. parent: the Gateway, `namespace/name` or `name`; member: where it stands.

    backend: a pattern of {name} and {cluster}. group and kind: of the backends, a Service unless said otherwise
    ("multicluster.x-k8s.io", "ServiceImport").
    """

    member: str
    parent: str
    hostnames: tuple[str, ...] = ()
    port: int = 80
    backend: str = "{name}-{cluster}"
    group: str = ""
    kind: str = "Service"


def route_object(key: str, shares: Sequence[Share], route: Route) -> Json:
    """The HTTPRoute of a workload; InputError where nothing has weight, or the pattern makes one backend of two."""
    namespace, _, name = key.partition("/")
    weights = [round(max(share.weight, 0.0) * _FINE) for share in shares]
    if not sum(weights):
        raise InputError(f"{key}: no part of the placement has weight, so there is nothing to route to")
    backends = [route.backend.format(name=name, cluster=share.cluster) for share in shares]
    if len(set(backends)) != len(backends):
        raise InputError(f"backend: {route.backend!r} must tell clusters apart; put {{cluster}} into it")
    parts = divide(WHOLE, weights, [0] * len(weights))
    rule = {
        "backendRefs": [
            {"group": route.group, "kind": route.kind, "name": backend, "port": route.port, "weight": part}
            for backend, part in zip(backends, parts, strict=True)
        ]
    }
    spec: Json = {"parentRefs": [_parent(route.parent)], "rules": [rule]}
    if route.hostnames:
        spec["hostnames"] = list(route.hostnames)
    meta = {"name": name, "namespace": namespace}
    return marked({"apiVersion": GATEWAY, "kind": "HTTPRoute", "metadata": meta, "spec": spec})


def _parent(text: str) -> Json:
    namespace, _, name = text.rpartition("/")
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def traffic_work(key: str, shares: Sequence[Share], route: Route) -> Work:
    """The work that moves the calls, between surge and drain."""
    return Work(route.member, Stage.TRAFFIC, (route_object(key, shares, route),))


async def check_gateway(api: Api) -> None:
    """MemberError in one line where the member has no Gateway API."""
    try:
        await api.call("GET", f"/apis/{GATEWAY}")
    except RefusedError as error:
        if error.status == 404:
            raise MemberError(api.name, f"has no Gateway API ({GATEWAY}), so traffic cannot be divided there") from None
        raise
