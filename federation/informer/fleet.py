"""The whole fleet, watched: members come and go with their source, and a snapshot can be had at any time.

A snapshot never waits: it is made of what is held, with its age. One member that is dark, slow or wrong has tasks,
connections and errors of its own; starting waits for none, and nothing that a member answers ends this service.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from federation.informer.cluster import Cordon, broken_cluster, cluster_of, twin_cluster, twins
from federation.informer.member import MemberWatch
from federation.informer.network import links_between
from federation.informer.settings import FleetPolicy, WatchOptions
from federation.kubeconfig.access import BrokenMember
from federation.members.fleet import Members, MemberSource
from federation.snapshot import Cluster, Snapshot
from prewarm.domain import PrewarmError

log = logging.getLogger("federation.informer")


@dataclass(slots=True)
class _Watched:
    watch: MemberWatch
    task: asyncio.Task[None]


@dataclass(slots=True)
class FleetWatch:
    """Keeps a view of every member that `source` lists. `policy` may be exchanged at any time."""

    source: MemberSource
    members: Members
    policy: FleetPolicy
    options: WatchOptions
    rng: Random
    clock: Callable[[], float] = time.time
    cordons: dict[str, Cordon] = field(default_factory=dict)
    """What people cordoned, by member id, whether or not it is listed."""
    notices: tuple[str, ...] = ()
    """What the source has to say: files that are gone, entries that are not used, why it could not be read."""
    _watched: dict[str, _Watched] = field(default_factory=dict)
    _broken: dict[str, tuple[BrokenMember, float]] = field(default_factory=dict)
    _kinds: set[str] = field(default_factory=set)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """For ever; closes every client when cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow(group), name="fleet:follow")
                group.create_task(self._probe(), name="fleet:probe")
        finally:
            await self.members.close()

    def snapshot(self, now: float) -> Snapshot:
        """The fleet as it is held, as of `now` (seconds since the epoch)."""
        clusters = [
            cluster_of(
                one.watch.member,
                one.watch.holding,
                one.watch.client.health,
                policy=self.policy,
                cordon=self.cordons.get(name),
                now=now,
            )
            for name, one in self._watched.items()
        ]
        states = ((one.watch.member.spec, one.watch.client.health.state) for one in self._watched.values())
        same = twins(states)
        clusters = [twin_cluster(one, same[one.name]) if one.name in same else one for one in clusters]
        clusters += [broken_cluster(member, since) for member, since in self._broken.values()]
        clusters.sort(key=_name)
        places = tuple((cluster.name, cluster.region) for cluster in clusters)
        return Snapshot(now, tuple(clusters), links_between(places, self.policy.links), self.policy.calls)

    def ready(self) -> bool:
        """Whether at least one member was listed."""
        return any(one.watch.listed for one in self._watched.values())

    def demand(self, kinds: frozenset[str]) -> None:
        """Keeps the names of these kinds (of `resource.NAMES`) too, in every member."""
        self._kinds.update(kinds)
        for one in self._watched.values():
            one.watch.demand(kinds)

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        """The outermost loop over the source, so whatever it raises is said and tried again."""
        while True:
            try:
                await self.refresh(group)
            except PrewarmError as error:
                self.notices = (str(error),)
                log.warning("members as before: %s", error)
            except Exception as error:
                self.notices = (repr(error),)
                log.exception("members as before")
            await asyncio.sleep(self.options.refresh_s)

    async def refresh(self, group: asyncio.TaskGroup) -> None:
        """One look at the source; watches of what appeared are tasks of `group`."""
        listing = await self.source.read()
        change = await self.members.follow(listing.members)
        for name in (*change.gone, *change.appeared):
            if (old := self._watched.pop(name, None)) is not None:
                old.task.cancel()
        by_id = {member.spec.id: member for member in listing.members}
        for name in change.appeared:
            watch = MemberWatch(
                by_id[name],
                self.members.clients[name],
                self.options,
                rng=Random(self.rng.random()),
                clock=self.clock,
            )
            watch.demand(frozenset(self._kinds))
            self._watched[name] = _Watched(watch, group.create_task(watch.run(), name=f"watch:{name}"))
        self._note_broken(listing.broken)
        self.notices = listing.notices
        if change.appeared:
            self._changed.set()

    def _note_broken(self, broken: tuple[BrokenMember, ...]) -> None:
        """Each since it was first seen so."""
        now = self.clock()
        before = dict(self._broken.values())
        self._broken = {member.id: (member, before.get(member, now)) for member in broken}

    async def _probe(self) -> None:
        """Asks every member whether it is there, at once when some appeared."""
        while True:
            self._changed.clear()
            await self.members.poll()
            try:
                async with asyncio.timeout(self.options.probe_s):
                    await self._changed.wait()
            except TimeoutError:
                continue


def _name(cluster: Cluster) -> str:
    return cluster.name
