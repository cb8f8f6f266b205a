"""From a kubeconfig file to clients of its members, by prewarm's own parts, as the service does it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random

from federation.informer.fleet import FleetWatch
from federation.informer.settings import FleetPolicy, WatchOptions
from federation.kubeconfig.source import FleetSource, Places
from federation.members.client import ClientOptions, MemberClient
from federation.members.fleet import Members
from federation.snapshot import MemberState
from tests.cluster.real.cluster import Cluster
from tests.cluster.real.kubeconfig import Entry, write_kubeconfig
from tests.cluster.truth import View, seen_in, told_by

QUICK_CLIENT = ClientOptions(deadline_s=2.0)
QUICK_WATCH = WatchOptions(refresh_s=2.0, probe_s=0.5)
"""Impatient, so that tests are short."""

ANSWERING = (MemberState.READY, MemberState.SLOW)
"""Slow is what a busy machine makes of a healthy member."""


@asynccontextmanager
async def members_of(kubeconfig: Path, options: ClientOptions | None = None) -> AsyncIterator[Members]:
    """A client for each context of the file."""
    listing = await FleetSource(Places(files=(kubeconfig,)), {}).read()
    assert listing.broken == ()
    members = Members(options or ClientOptions(), lambda member: member.open(), rng=Random(1))
    await members.follow(listing.members)
    try:
        yield members
    finally:
        await members.close()


@asynccontextmanager
async def member_of(folder: Path, entry: Entry, options: ClientOptions | None = None) -> AsyncIterator[MemberClient]:
    """A client for one context, whose kubeconfig is written into `folder`."""
    async with members_of(write_kubeconfig(folder / f"{entry.context}.yaml", [entry]), options) as members:
        (client,) = members.clients.values()
        yield client


@asynccontextmanager
async def watch_of(
    kubeconfig: Path, *, client: ClientOptions = QUICK_CLIENT, watch: WatchOptions = QUICK_WATCH
) -> AsyncIterator[FleetWatch]:
    """The fleet of a file, watched while the block runs."""
    members = Members(client, lambda member: member.open(), rng=Random(1))
    fleet = FleetWatch(FleetSource(Places(files=(kubeconfig,)), {}), members, FleetPolicy(), watch, Random(2))
    running = asyncio.create_task(fleet.run(), name="fleet")
    try:
        yield fleet
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def seen(fleet: FleetWatch, name: str) -> View | None:
    """The member as it is held now, None where it is not listed yet."""
    cluster = fleet.snapshot(time.time()).cluster(name)
    return None if cluster is None or not cluster.nodes.names else seen_in(cluster)


async def until(holds: Callable[[], bool], *, deadline_s: float = 15.0) -> float:
    """Seconds until it holds."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < deadline_s, "never came true"
        await asyncio.sleep(0.05)
    return time.monotonic() - began


def state_of(watch: FleetWatch, name: str) -> MemberState | None:
    """How a member answers, None where there is none of that name."""
    cluster = watch.snapshot(time.time()).cluster(name)
    return None if cluster is None else cluster.state


async def until_equal(
    fleet: FleetWatch, cluster: Cluster, *, name: str | None = None, deadline_s: float = 20.0
) -> float:
    """Seconds until the snapshot says of the cluster what kubectl says; fails with both where it never does."""
    began = time.monotonic()
    while True:
        told = await asyncio.to_thread(told_by, cluster.kubectl)
        held = seen(fleet, name or cluster.name)
        if held == told:
            return time.monotonic() - began
        if time.monotonic() - began > deadline_s:
            assert held == told, fleet.snapshot(time.time()).cluster(name or cluster.name)
        await asyncio.sleep(0.1)
