"""A real fleet for as long as somebody needs it: its files, one client a member, their watches, in one context.

The service holds one for ever, a command for a few seconds. Entering waits for nobody; `settled` waits, with a limit,
until every member has been listed or has shown that it does not answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from random import Random

from federation.informer.fleet import FleetWatch
from federation.informer.settings import FleetPolicy, WatchOptions
from federation.kubeconfig.listing import Listing
from federation.kubeconfig.source import FleetSource, Places
from federation.members.client import ClientOptions
from federation.members.fleet import Members
from federation.members.health import UNHEARD
from federation.snapshot import Cluster, MemberState, Snapshot
from prewarm.settings import Settings

_LOOK_S = 0.05
_AWAY = frozenset({MemberState.DARK, MemberState.REFUSED})


@dataclass(frozen=True, slots=True)
class LiveFleet:
    """Everything that was opened for a fleet."""

    source: FleetSource
    members: Members
    watch: FleetWatch
    task: asyncio.Task[None]

    def snapshot(self, now: float) -> Snapshot:
        """The fleet as it is held."""
        return self.watch.snapshot(now)

    async def listing(self) -> Listing:
        """Members, broken contexts and notices, as the files say now."""
        return await self.source.read()

    async def settled(self, limit_s: float) -> tuple[str, ...]:
        """Wait until every member is listed or known to be away, at most `limit_s`; who was still silent then."""
        names = frozenset(member.spec.id for member in (await self.source.read()).members)
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._silent(names) and not self.task.done():  # noqa: ASYNC110  nobody announces a first list
                    await asyncio.sleep(_LOOK_S)
        return tuple(sorted(self._silent(names)))

    def _silent(self, names: frozenset[str]) -> frozenset[str]:
        return names - {one.name for one in self.snapshot(time.time()).clusters if _is_heard(one)}


@asynccontextmanager
async def live_fleet(places: Places, settings: Settings, environ: Mapping[str, str]) -> AsyncIterator[LiveFleet]:
    """The fleet that `places` describe, watched until the block ends. InputError where a named file is unusable."""
    source = FleetSource(places, environ)
    await source.read()
    options = ClientOptions(deadline_s=settings.placement.member_deadline_s)
    rng = Random()  # spreads pauses of clients and watches, so that members are not asked in step
    members = Members(options, lambda member: member.open(), rng=rng)
    watch = FleetWatch(source, members, policy_of(settings), WatchOptions(), rng)
    task = asyncio.create_task(watch.run(), name="fleet")
    try:
        yield LiveFleet(source, members, watch, task)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def policy_of(settings: Settings) -> FleetPolicy:
    """What people said of the fleet."""
    return FleetPolicy(settings.cluster, settings.link, settings.call, settings.placement)


def _is_heard(one: Cluster) -> bool:
    return (one.state in _AWAY and one.why != UNHEARD) or (one.ages.nodes is not None and one.ages.pods is not None)
