"""A whole fleet watched over fake API servers, for as long as a test needs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random

from federation.informer.fleet import FleetWatch
from federation.informer.settings import FleetPolicy, WatchOptions
from federation.members.client import ClientOptions
from federation.members.fleet import Members, MemberSource
from federation.snapshot import Cluster
from tests.federation.members.made import open_access

QUICK = ClientOptions(deadline_s=0.5)


@asynccontextmanager
async def watching(
    source: MemberSource,
    *,
    policy: FleetPolicy | None = None,
    options: WatchOptions | None = None,
    client: ClientOptions = QUICK,
) -> AsyncIterator[FleetWatch]:
    """The running watch; everything of it is over at the end."""
    members = Members(client, open_access, rng=Random(1))
    watch = FleetWatch(
        source,
        members,
        policy or FleetPolicy(),
        options or WatchOptions(refresh_s=0.05, probe_s=0.1, usage_s=0.1),
        Random(2),
    )
    task = asyncio.create_task(watch.run())
    try:
        yield watch
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def cluster_in(watch: FleetWatch, name: str, now: float) -> Cluster:
    """One cluster of a snapshot."""
    found = watch.snapshot(now).cluster(name)
    assert found is not None, f"no {name}"
    return found
