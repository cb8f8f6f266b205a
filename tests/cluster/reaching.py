"""From a kubeconfig file to clients of its members, by prewarm's own parts, as the service does it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from federation.kubeconfig.source import FleetSource, Places
from federation.members.client import ClientOptions, MemberClient
from federation.members.fleet import Members
from tests.cluster.real.kubeconfig import Entry, write_kubeconfig


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
