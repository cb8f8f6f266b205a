"""What the fleet's part of the service keeps in the database: placements, cordons, the network, and who is placed.

Whatever a person said is a document with an audit entry. A manifest is kept so that it can be placed again elsewhere;
the content of a Secret never is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from federation.apply.around.drain import KIND as CORDON
from federation.apply.around.drain import Cordon, end_cordon, set_cordon
from federation.apply.state.objects import is_secret, ref_of
from federation.manifest.fields import Json
from federation.manifest.form import read_form
from federation.manifest.read import Manifest, read_manifest
from federation.placement.reserve.book import Claim
from federation.placement.terms import Home
from federation.placement.workload import GpuNeed
from federation.snapshot import frozen
from prewarm.domain import Decision
from prewarm.settings import Link
from prewarm.store import Store
from prewarm.store.decisions import add_decisions, mark_applied
from prewarm.store.people import Stamp, documents, drop_document, put_document
from prewarm.store.records import put_record
from prewarm.store.reservations import Reservation, drop_reservations, put_reservations, reservations

PLACED = "placed"
NETWORK = "network"
MEMORY = "placer"
FLEET = "fleet"

Moves = tuple[tuple[float, int], ...]
"""When how many instances were moved."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A workload that is to stay placed. `source` is its manifest or our own form as it was sent.

    beside: objects that go wherever it goes, without Secrets. decision: the newest placement's id.
    """

    key: str
    source: Json
    at: float
    decision: str
    beside: tuple[Json, ...] = ()
    with_dependencies: bool = False

    @property
    def manifest(self) -> Manifest:
        """The workload anew; InputError where the rules have changed since it was kept."""
        if "apiVersion" in self.source:
            return read_manifest(self.source, f"kept manifest of {self.key}")
        return Manifest(read_form(self.source, f"kept workload {self.key}"), None)


@dataclass(frozen=True, slots=True)
class Said:
    """What people said of a cluster, as it is kept."""

    state: Cordon
    owner: str
    reason: str
    at: float


class Records:
    """The fleet's tables in the service's store. A write is durable when it returns; StoreDownError where it is not."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep_decisions(self, made: Iterable[Decision]) -> None:
        """Write placements."""
        await self._store.submit(partial(add_decisions, decisions=tuple(made)))

    async def keep_promised(self, made: Decision, claims: Iterable[Claim]) -> None:
        """Write a placement together with the room that it was promised: after a restart either both are there."""
        await self._store.submit(partial(_keep_promised, made=made, rows=[_reservation(one) for one in claims]))

    async def release(self, ids: Iterable[str]) -> None:
        """The room that these decisions were promised is free again, after a restart too."""
        await self._store.submit(partial(drop_reservations, decisions=tuple(ids)))

    async def promised(self, now: float) -> tuple[Claim, ...]:
        """The room that was promised and whose time is not over."""
        return tuple(map(_claim, await self._store.read(partial(reservations, now=now))))

    async def mark_applied(self, ids: Iterable[str]) -> None:
        """Note that these were carried out."""
        await self._store.submit(partial(mark_applied, ids=tuple(ids)))

    async def placed(self) -> Mapping[str, Placed]:
        """Every workload that is to stay placed, by key."""
        kept = await self._store.read(partial(documents, kind=PLACED))
        return {key: _placed(key, body) for key, body in kept.items()}

    async def keep_placed(self, one: Placed, actor: str) -> None:
        """Keep it placed from now on."""
        body = {
            "source": one.source,
            "at": one.at,
            "decision": one.decision,
            "beside": [each for each in one.beside if not is_secret(ref_of(each))],
            "with_dependencies": one.with_dependencies,
        }
        stamp = Stamp(actor, one.at)
        await self._store.submit(partial(put_document, kind=PLACED, name=one.key, body=body, stamp=stamp))

    async def forget_placed(self, key: str, stamp: Stamp) -> bool:
        """No longer; False where it was not."""
        return await self._store.submit(partial(drop_document, kind=PLACED, name=key, stamp=stamp))

    async def memory(self) -> tuple[Mapping[str, Home], Moves]:
        """Where workloads were before they had to leave, and what was moved lately; empty where nothing was kept."""
        kept = (await self._store.read(partial(documents, kind=MEMORY))).get(FLEET)
        if kept is None:
            return {}, ()
        homes = {key: Home(frozen(one["shares"]), one["since"]) for key, one in kept["homes"].items()}
        return homes, tuple((at, count) for at, count in kept["moves"])

    async def keep_memory(self, homes: Mapping[str, Home], moves: Moves, at: float) -> None:
        """Keep what a placer knows of the past, so that a restart neither forgets a home nor moves too much."""
        told = {key: {"shares": dict(one.shares), "since": one.since} for key, one in homes.items()}
        body = {"homes": told, "moves": [list(one) for one in moves]}
        await self._store.submit(partial(put_record, kind=MEMORY, name=FLEET, body=body, at=at))

    async def said(self) -> Mapping[str, Said]:
        """What people said of clusters, by name."""
        kept = await self._store.read(partial(documents, kind=CORDON))
        return {name: Said(Cordon(one["state"]), one["owner"], one["reason"], one["at"]) for name, one in kept.items()}

    async def say(self, cluster: str, said: Said) -> None:
        """Take a cluster out of use."""
        stamp = Stamp(said.owner, said.at)
        job = partial(set_cordon, cluster=cluster, state=said.state, reason=said.reason, stamp=stamp)
        await self._store.submit(job)

    async def unsay(self, cluster: str, stamp: Stamp) -> bool:
        """Back into use; False where nothing was said."""
        return await self._store.submit(partial(end_cordon, cluster=cluster, stamp=stamp))

    async def links(self) -> tuple[Link, ...] | None:
        """The network set through the API; None where the configuration's holds."""
        kept = (await self._store.read(partial(documents, kind=NETWORK))).get(FLEET)
        return None if kept is None else tuple(Link(**one) for one in kept["links"])

    async def keep_links(self, links: tuple[Link, ...], stamp: Stamp) -> None:
        """Set the network."""
        body = {"links": [asdict(one) for one in links]}
        await self._store.submit(partial(put_document, kind=NETWORK, name=FLEET, body=body, stamp=stamp))


def _placed(key: str, body: Mapping[str, Any]) -> Placed:
    beside = tuple(body["beside"])
    return Placed(key, body["source"], body["at"], body["decision"], beside, body["with_dependencies"])


def _keep_promised(connection: Connection, made: Decision, rows: list[Reservation]) -> None:
    add_decisions(connection, [made])
    put_reservations(connection, made.function, rows, made.at)


def _reservation(claim: Claim) -> Reservation:
    requests, gpu = claim.shape
    shape = {"requests": dict(requests), "gpu": {"count": gpu.count, "milli": gpu.milli, "models": gpu.models}}
    counts = {"instances": claim.instances, "base": claim.base, "priority": claim.priority}
    return Reservation(claim.id, claim.cluster, claim.workload, shape=shape, until=claim.until, **counts)


def _claim(kept: Reservation) -> Claim:
    gpu = kept.shape["gpu"]
    shape = tuple(kept.shape["requests"].items()), GpuNeed(gpu["count"], gpu["milli"], tuple(gpu["models"]))
    where = {"id": kept.decision, "workload": kept.workload, "cluster": kept.cluster}
    return Claim(
        **where, instances=kept.instances, base=kept.base, shape=shape, until=kept.until, priority=kept.priority
    )
