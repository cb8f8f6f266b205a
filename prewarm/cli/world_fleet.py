"""The three clusters of the simulated world, wired like any fleet: the same desk, the same planner, the same page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from federation.desk.desk import FleetDesk
from federation.desk.dividing import Dividing
from federation.desk.outlook import Outlooks
from federation.desk.records import Records, Said
from federation.informer.network import links_between
from federation.placement.placer import Placer
from federation.pools.tick.fleet_tick import FleetPlan
from federation.pools.tick.value import Callers
from federation.sim.embedded import EmbeddedFleet
from federation.snapshot import Cluster, MemberState, Snapshot
from prewarm.cli.fleet_part import FleetPart, measure
from prewarm.domain import Decision
from prewarm.loop.fleet import Fleet
from prewarm.loop.view import TickView
from prewarm.settings import Link
from prewarm.sim.world import World
from prewarm.store import Store


@dataclass(slots=True)
class EmbeddedView:
    """The simulated clusters with what people said of them; links are as they were built until somebody sets them."""

    ground: EmbeddedFleet
    _said: Mapping[str, Said] = field(default_factory=dict)
    _links: tuple[Link, ...] | None = None

    def snapshot(self, now: float) -> Snapshot:
        """The clusters at `now`."""
        snapshot = self.ground.snapshot(now)
        if self._links is not None:
            places = tuple((one.name, one.region) for one in snapshot.clusters)
            snapshot = replace(snapshot, links=links_between(places, self._links))
        if not self._said:
            return snapshot
        return replace(snapshot, clusters=tuple(self._as_told(one) for one in snapshot.clusters))

    def told(self, said: Mapping[str, Said], links: tuple[Link, ...] | None) -> None:
        """Take what people said of clusters and of the network."""
        self._said, self._links = dict(said), links

    async def watch(self, kinds: frozenset[str], limit_s: float) -> None:
        """Nothing that a workload needs is missing here."""

    def _as_told(self, one: Cluster) -> Cluster:
        said = self._said.get(one.name)
        if said is None or one.state is MemberState.DARK:
            return one
        why = f"cordoned by {said.owner}: {said.reason}"
        return replace(one, state=MemberState.CORDONED, since=said.at, why=why)


class Carried:
    """Says which parts of a tick were carried out: the plan went to the clusters as a whole, before."""

    def __init__(self, world: World) -> None:
        self._own = frozenset(world.people.keys)

    async def apply(self, decisions: tuple[Decision, ...]) -> frozenset[str]:
        """The ids of decisions about the world's own functions."""
        return frozenset(one.id for one in decisions if one.function in self._own and one.held is None)


async def simulated_fleet(world: World, ground: EmbeddedFleet, fleet: Fleet, store: Store) -> FleetPart:
    """The world's clusters as a part of the service."""
    view = EmbeddedView(ground)
    desk = FleetDesk(fleet, view, Records(store), Placer(view.snapshot(fleet.clock.now())))
    await desk.recall()

    def callers(seen: TickView, now: float) -> Callers:
        return ground.callers(seen.keys, world.counts(int(now // 60) - 1) / 60.0, now)

    async def carry(plan: FleetPlan) -> None:
        ground.apply(plan, plan.tick.now, kept_alive=world.kept_alive())

    outlooks = Outlooks(desk)
    measure(desk, lambda: {"outlook": outlooks.accidents})
    return FleetPart(desk, world, Carried(world), Dividing(desk, callers, carry), {"outlook": outlooks.run})
