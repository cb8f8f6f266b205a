"""A desk over members in memory: what is applied there runs at once, and the view shows it as an informer would.

Every member has one node; an instance asks for one core, so a member's cores are the instances that fit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from federation.api import fleet_routes
from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.journal import StoreJournal
from federation.apply.rollout.means import Limits, Means
from federation.apply.writer import writers_of
from federation.desk.desk import FleetDesk
from federation.desk.records import Records, Said
from federation.informer.network import links_between
from federation.members.api import Api
from federation.placement.placer import Placer
from federation.snapshot import Ages, Cluster, MemberState, Snapshot
from prewarm.api import Mounted, build_app
from prewarm.domain import Mode
from prewarm.http.desk import Desk
from prewarm.settings import Link
from prewarm.store import Store
from tests.federation.apply.fake import FakeApi, dark
from tests.federation.apply.made import Says
from tests.federation.building import cluster
from tests.federation.manifest.made import container, deployment
from tests.service import HandClock, running_parts

Json = dict[str, Any]
FOLDER = "/apis/apps/v1/namespaces/shop/deployments/"


def manifest(name: str = "checkout", replicas: int = 4, **more: Any) -> Json:
    """A Deployment whose instances ask for one core."""
    return deployment(name, replicas, pod={"containers": [container(cpu="1", memory="64Mi")]}, **more)


def form(key: str = "shop/checkout", replicas: int = 1, **more: object) -> Json:
    """The same in our own form."""
    return {"key": key, "replicas": replicas, "requests": {"cpu": "1", "memory": "64Mi"}, **more}


@dataclass
class Ground:
    """Members by name with their cores; a view of them, in which what was applied runs."""

    cores: dict[str, int]
    clock: HandClock
    regions: dict[str, str] = field(default_factory=dict)
    unseen: bool = False
    start_s: Mapping[str, float] = field(default_factory=dict)
    watched: list[frozenset[str]] = field(default_factory=list)
    said: Mapping[str, Said] = field(default_factory=dict)
    links: tuple[Link, ...] | None = None

    def __post_init__(self) -> None:
        self.apis = {name: FakeApi(name) for name in self.cores}
        self._dark: dict[str, float] = {}
        self._since = dict.fromkeys(self.cores, 0.0)

    def clients(self) -> Mapping[str, Api]:
        """One client a member."""
        return self.apis

    def darken(self, name: str) -> None:
        """From now on the member does not answer."""
        self.apis[name].fault = dark(name)
        self._dark[name] = self._since[name] = self.clock.now()

    def lighten(self, name: str) -> None:
        """It answers again, with what was there."""
        self.apis[name].fault = lambda _: None
        del self._dark[name]
        self._since[name] = self.clock.now()

    def replicas(self, name: str = "checkout") -> dict[str, int]:
        """Instances by member, as they stand there."""
        path = FOLDER + name
        return {
            member: int(api.live(path)["spec"]["replicas"])
            for member, api in self.apis.items()
            if path in api.objects and api.live(path)["spec"]["replicas"]
        }

    def writes(self) -> int:
        """Calls that were no reads, over all members."""
        return sum(len(api.writes) for api in self.apis.values())

    def snapshot(self, now: float) -> Snapshot:
        """The members as they are."""
        clusters = tuple(self._cluster(name, now) for name in sorted(self.cores))
        places = tuple((one.name, one.region) for one in clusters)
        return Snapshot(now, clusters, links_between(places, self.links or ()))

    def told(self, said: Mapping[str, Said], links: tuple[Link, ...] | None) -> None:
        """What people said."""
        self.said, self.links = dict(said), links

    async def watch(self, kinds: frozenset[str], limit_s: float) -> None:
        """Remembers what was asked for."""
        del limit_s
        self.watched.append(kinds)

    def _cluster(self, name: str, now: float) -> Cluster:
        here = {path.rpartition("/")[2]: self.apis[name].live(path)["spec"] for path in self.apis[name].objects}
        counts = {key: int(spec["replicas"]) for key, spec in here.items() if spec.get("replicas")}
        left = str(self.cores[name] - sum(counts.values()))
        built = cluster(name, region=self.regions.get(name), state=self._state(name), since=self._since[name])
        built = built.nodes(cpu=str(self.cores[name]), memory="64Gi", free={"cpu": left})
        for key, count in counts.items():
            built = built.runs(f"shop/{key}", count)
        at = None if self.unseen else self._dark.get(name, now)
        return built.but(ages=Ages(at, at, at, at, at), start_s=self.start_s.get(name)).build()

    def _state(self, name: str) -> MemberState:
        if name in self._dark:
            return MemberState.DARK
        return MemberState.CORDONED if name in self.said else MemberState.READY


@dataclass
class Standing:
    """A desk, what it stands on, and a client of its API."""

    desk: FleetDesk
    ground: Ground
    clock: HandClock
    service: Desk
    client: TestClient[Any, Any]
    observer: Says
    store: Store

    async def call(self, method: str, path: str, body: object = None, status: int = 200) -> Any:
        """The parsed answer, which must have this status."""
        answer = await self.client.request(method, path, json=body)
        parsed = await answer.json()
        assert answer.status == status, parsed
        return parsed

    async def place(self, body: Json, status: int = 200, **more: object) -> Any:
        """`POST /v1/placements` with a manifest or our own form, for real unless told otherwise."""
        part = "manifest" if "apiVersion" in body else "workload"
        return await self.call("POST", "/v1/placements", {part: body, "dry_run": False, **more}, status)

    async def decision(self, identity: str, status: int = 200) -> Any:
        """What is kept of a decision."""
        return await self.call("GET", f"/v1/decisions/{identity}", status=status)

    async def mode(self, mode: str) -> None:
        """For everything."""
        await self.call("PUT", "/v1/mode", {"default": mode})


def where(answer: Json) -> dict[str, int]:
    """Instances by cluster, of an answer."""
    return {one["cluster"]: one["replicas"] for one in answer["placements"]}


@asynccontextmanager
async def standing(
    folder: Path, ground: Ground, *, writes: bool = True, mode: Mode = Mode.ACTIVE
) -> AsyncIterator[Standing]:
    """A service whose fleet is `ground`; `writes` False: one that nobody can write to, like the simulated one."""
    async with running_parts(folder, clock=ground.clock) as (service, clock, store):
        observer = Says()
        writers = writers_of(ground.clients)
        carrier = Carrier(Means(writers, StoreJournal(store), observer, Limits(member_s=0.2, ready_s=5.0)))
        placer = Placer(ground.snapshot(clock.now()))
        desk = FleetDesk(service.fleet, ground, Records(store), placer)
        if writes:
            desk.carrier, desk.clients = carrier, ground.clients
        await desk.recall()
        app = build_app(service, Mounted(fleet_routes(), desk))
        async with TestClient(TestServer(app)) as client:
            found = Standing(desk, ground, clock, service, client, observer, store)
            if service.fleet.told.modes.default is not mode:
                await found.mode(mode.value)
            yield found
            await desk.close()
