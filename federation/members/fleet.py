"""The set of members: follows what kubeconfig files (or profiles) list, one client each, and closes what it made.

A member that changed gets a new client; one that stayed keeps its own, with its connections, credentials and memory of
how it answered. So does one whose listing could not be read this time: a source that fails is not a fleet that is gone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Protocol

from federation.kubeconfig.access import Access
from federation.kubeconfig.listing import Listing, Member
from federation.members.api import MemberError, RefusedError
from federation.members.client import ClientOptions, MemberClient
from federation.snapshot import frozen

log = logging.getLogger("federation.members")
PROBE = "/version"
"""Everybody who is let in may read it, it costs the server nothing, and bad credentials are told at once."""


class MemberSource(Protocol):
    """Where members come from: files, profiles, the pod's own account (`federation.kubeconfig.source.FleetSource`)."""

    async def read(self) -> Listing:
        """All members there are now. PrewarmError where it cannot be told."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """Ids of members that appeared (or changed, with a new client) and of those that went."""

    appeared: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class Members:
    """The clients of the fleet, by member id. `open_access` makes a member's own way in."""

    def __init__(
        self,
        options: ClientOptions,
        open_access: Callable[[Member], Access],
        *,
        rng: Random,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._options = options
        self._open_access = open_access
        self._rng = rng
        self._clock = clock
        self.accidents = 0
        """Probes that ended by an error of ours."""
        self._members: dict[str, Member] = {}
        self._clients: dict[str, MemberClient] = {}

    @property
    def clients(self) -> Mapping[str, MemberClient]:
        """Every member's client as of now, in the order of ids."""
        return frozen({name: self._clients[name] for name in sorted(self._clients)})

    async def follow(self, found: Iterable[Member]) -> Change:
        """Makes the set of clients that of `found`; those of members that changed or went are closed."""
        wanted = {member.spec.id: member for member in found}
        gone = sorted(name for name in self._members if name not in wanted)
        changed = sorted(name for name, member in wanted.items() if self._members.get(name) != member)
        old = [self._clients.pop(name) for name in (*gone, *changed) if name in self._clients]
        self._members = wanted
        for name in changed:
            access = self._open_access(wanted[name])
            rng = Random(self._rng.random())
            self._clients[name] = MemberClient(access, self._options, rng=rng, clock=self._clock)
        await _close(old)
        return Change(tuple(changed), tuple(gone))

    async def poll(self) -> None:
        """One question to each member at once; over after the deadline at the latest, whoever is silent."""
        async with asyncio.TaskGroup() as group:
            for name, client in self.clients.items():
                group.create_task(self._probe(client), name=f"probe:{name}")

    async def close(self) -> None:
        """Closes every client."""
        clients, self._clients, self._members = list(self._clients.values()), {}, {}
        await _close(clients)

    async def _probe(self, client: MemberClient) -> None:
        """The answer is in the client's health; the outermost call to a member, so an error of ours stays here too."""
        try:
            await client.read(PROBE)
        except RefusedError:
            pass
        except MemberError as error:
            log.debug("%s", error)
        except Exception:
            self.accidents += 1
            log.exception("%s: probe", client.name)


async def _close(clients: list[MemberClient]) -> None:
    for result in await asyncio.gather(*(client.close() for client in clients), return_exceptions=True):
        if isinstance(result, BaseException):
            log.warning("a client did not close: %s", result)
