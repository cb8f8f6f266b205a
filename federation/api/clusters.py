"""The members of the fleet as they were last seen, the network between them, and taking one out of use."""

from __future__ import annotations

import math
from dataclasses import asdict

from federation.api.models import (
    ClusterAnswer,
    ClusterList,
    LinkIn,
    Maintenance,
    MaintenanceAnswer,
    Network,
    NetworkAnswer,
)
from federation.apply.around.drain import Cordon
from federation.desk.desk import FleetDesk
from federation.desk.records import Said
from federation.desk.shapes import cluster_detail_json, cluster_json
from federation.snapshot import Cluster
from prewarm.http.auth import Right
from prewarm.http.problem import ProblemError
from prewarm.http.queries import Cursor
from prewarm.http.routes import Call, Route
from prewarm.settings import Link
from prewarm.store.people import Stamp

API = "api"
_RUNNING_SHOWN = 200
_NAME = {"name": {"type": "string", "pattern": r"^[^\s/%\x00-\x1f\x7f]{1,253}$"}}


async def list_clusters(call: Call[FleetDesk]) -> object:
    """Every member, by name."""
    query: Cursor = call.query
    desk = call.service
    snapshot = desk.look()
    later = [one for one in snapshot.clusters if query.cursor is None or one.name > query.cursor]
    rows = [cluster_json(one, desk.placer.book, snapshot.at) for one in later[: query.limit]]
    return {"clusters": rows, "next": later[query.limit - 1].name if len(later) > query.limit else None}


async def read_cluster(call: Call[FleetDesk]) -> object:
    """One member, with what runs there and its links."""
    desk = call.service
    snapshot, one = desk.look(), _named(call)
    return cluster_detail_json(one, snapshot, desk.placer.book, limit=_RUNNING_SHOWN)


async def put_maintenance(call: Call[FleetDesk]) -> object:
    """Nothing new goes there; with `drain` what runs there moves away, within the limits of placement."""
    given: Maintenance = call.body
    desk, cluster = call.service, _named(call)
    state = Cordon.DRAINING if given.drain else Cordon.CORDONED
    said = Said(state, given.owner, given.reason, desk.now())
    await desk.say(cluster.name, said)
    return {"cluster": cluster.name, "state": state.value}


async def end_maintenance(call: Call[FleetDesk]) -> object:
    """Back into use."""
    desk, name = call.service, call.path("name")
    if name not in desk.said:  # a cluster that is no longer a member can be named as it was then
        name = _named(call).name
    if not await desk.unsay(name, Stamp(API, desk.now())):
        raise ProblemError(404, f"{name} is not under maintenance")
    return {"cluster": name, "state": "open"}


async def read_network(call: Call[FleetDesk]) -> object:
    """The links in force."""
    kept = call.service.links
    return _network(call.service, call.service.demand.settings.link if kept is None else kept)


async def write_network(call: Call[FleetDesk]) -> object:
    """Set the links; they replace what the configuration says."""
    given: Network = call.body
    desk = call.service
    links = tuple(_link(one) for one in given.links)
    await desk.connect(links, Stamp(API, desk.now()))
    return _network(desk, links)


def _network(desk: FleetDesk, links: tuple[Link, ...]) -> dict[str, object]:
    found = desk.look().links
    delays = [[delay if math.isfinite(delay) else None for delay in row] for row in found.delay_ms.tolist()]
    return {"links": [asdict(one) for one in links], "clusters": list(found.names), "delay_ms": delays}


def _link(given: LinkIn) -> Link:
    return Link(given.a, given.b, given.delay_ms, given.bandwidth_mbps)


def _named(call: Call[FleetDesk]) -> Cluster:
    """The member of that id, or the only one of that context."""
    wanted, clusters = call.path("name"), call.service.look().clusters
    found = [one for one in clusters if one.name == wanted] or [one for one in clusters if one.context == wanted]
    if len(found) != 1:
        raise ProblemError(404, f"there is no cluster {wanted[:80]!r}; see /v1/clusters")
    return found[0]


def cluster_routes() -> list[Route[FleetDesk]]:
    """The routes of this subject."""
    one, maintenance, write = "/v1/clusters/{name}", "/v1/clusters/{name}/maintenance", Right.WRITE
    return [
        Route(
            "GET", "/v1/clusters", list_clusters, "The fleet, by name", query=Cursor, answer=ClusterList, tag="fleet"
        ),
        Route("GET", one, read_cluster, "One cluster", answer=ClusterAnswer, tag="fleet", parameters=_NAME),
        Route(
            "PUT",
            maintenance,
            put_maintenance,
            "Take a cluster out of use",
            right=write,
            body=Maintenance,
            answer=MaintenanceAnswer,
            tag="fleet",
            parameters=_NAME,
        ),
        Route(
            "DELETE",
            maintenance,
            end_maintenance,
            "Back into use",
            right=write,
            answer=MaintenanceAnswer,
            tag="fleet",
            parameters=_NAME,
        ),
        Route("GET", "/v1/network", read_network, "Links between clusters", answer=NetworkAnswer, tag="fleet"),
        Route(
            "PUT",
            "/v1/network",
            write_network,
            "Set the links",
            right=write,
            body=Network,
            answer=NetworkAnswer,
            tag="fleet",
        ),
    ]
