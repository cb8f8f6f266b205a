"""What the service remembers for good, and in which order: written first, then true.

Everything that a person says is committed before it holds and is answered; a push is, too, so an acknowledged count
survives a kill. The decisions of a tick are written after they were taken, and a database that is away delays neither
ticks nor reads: what cannot be written in time is refused or counted, never waited for.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import orjson
from sqlalchemy import Connection

from prewarm.collect.push import Event
from prewarm.domain import Decision, FunctionKey, Mode, Override, rfc3339
from prewarm.history import MinuteBatch
from prewarm.loop.fleet import Fleet, Told
from prewarm.loop.view import ModeTable, TickView
from prewarm.settings import Call, FunctionPolicy
from prewarm.settings_file import validate
from prewarm.store import (
    Stamp,
    Store,
    StoreBusyError,
    StoreDownError,
    add_decisions,
    audit_entries,
    documents,
    end_expired,
    end_override,
    find_decision,
    latest_counts,
    overrides,
    page_decisions,
    put_document,
    put_model,
    put_override,
)

log = logging.getLogger("prewarm.keeping")

Json = dict[str, Any]
T = TypeVar("T")
Accept = Callable[[], tuple[Json, tuple[MinuteBatch, ...]]]
WRITE_S = 5.0
TICK_WRITE_S = 2.0
FLEET = "fleet"
API = "api"


class Keeper:
    """Durable state of one fleet. A method that changes something changes `fleet.told` after the commit."""

    def __init__(self, fleet: Fleet, store: Store) -> None:
        self._fleet = fleet
        self._store = store

    @property
    def degraded(self) -> str | None:
        """Why the database takes no writes, None while it does."""
        return self._store.state.degraded

    def keep_for(self, *, decisions_days: float, audit_days: float) -> None:
        """Other ages for decisions and audit from now on."""
        self._store.keep_for(decisions_days=decisions_days, audit_days=audit_days)

    async def recall(self, default: Mode) -> None:
        """Take up what people and sources said before the restart; `default` is the mode where nobody said one."""
        told = await self._store.read(partial(_told, default=default))
        self._fleet.tell(told)
        self._fleet.push.recall(self._store.spoken)

    async def take(self, source: str, sequence: int, events: Sequence[Event]) -> Json:
        """The answer to a pushed batch, once its counts are safe; the same pair again gets the same answer."""
        now = self._fleet.clock.now()

        def accept() -> tuple[Json, tuple[MinuteBatch, ...]]:
            receipt = self._fleet.push.accept(source, events, now=now)
            rejected = [{"index": index, "reason": reason} for index, reason in receipt.rejected]
            return {"accepted": receipt.accepted, "rejected": rejected}, receipt.batches

        return await self.ingest(source, sequence, accept)

    async def ingest(
        self, source: str, sequence: int, accept: Callable[[], tuple[Json, tuple[MinuteBatch, ...]]]
    ) -> Json:
        """As `take`, for whoever makes minutes without events."""
        now = self._fleet.clock.now()
        work = self._store.ingest(self._fleet.history, source=source, sequence=sequence, at=now, accept=accept)
        return await _in_time(work)

    async def keep_tick(self, view: TickView) -> None:
        """Write the decisions of a tick that changed something or were held; late or refused writes are counted."""
        history = self._fleet.history
        try:
            if history.was_ahead:
                # A source's clock may run a minute fast; what lies further ahead is false.
                await _in_time(self._store.forget_counts_from(int(view.now // 60) + 2), TICK_WRITE_S)
                history.was_ahead = False
            await _in_time(self._store.submit(partial(add_decisions, decisions=view.news)), TICK_WRITE_S)
        except (StoreBusyError, StoreDownError) as error:
            self._fleet.metrics.errors.inc()
            log.warning("decisions of a tick are not written yet", extra={"why": str(error), "count": len(view.news)})

    async def keep_mark(self, name: str, version: str, text: str) -> None:
        """Note how far something has come, such as the simulated world."""
        now = self._fleet.clock.now()
        try:
            job = partial(put_model, name=name, version=version, payload=text.encode(), at=now)
            await _in_time(self._store.submit(job), TICK_WRITE_S)
        except (StoreBusyError, StoreDownError):
            self._fleet.metrics.errors.inc()

    async def maintain(self, now: float) -> None:
        """Close, coarsen and drop what is over age, and end overrides whose time is over."""
        await self._store.maintain(now)
        if await self._store.submit(partial(end_expired, now=now)):
            self._fleet.tell(replace(self._fleet.told, overrides=await self._overrides()))

    async def decisions(
        self, function: FunctionKey | None, limit: int, cursor: str | None
    ) -> tuple[Sequence[Decision], str | None]:
        """Decisions, newest first, after the cursor; and the cursor after them."""
        page = await self._store.read(partial(page_decisions, limit=limit, cursor=cursor, function=function))
        return page.decisions, page.next

    async def decision(self, wanted: str) -> Decision | None:
        """One decision by its id."""
        return await self._store.read(partial(find_decision, decision_id=wanted))

    async def latest_counts(self) -> dict[str, int]:
        """Per function, what the newest decision left its pool at."""
        return await self._store.read(latest_counts)

    async def put_override(self, override: Override, *, now: float) -> None:
        """Set or replace the override of a function (in a cluster)."""
        await self._write(partial(put_override, override=override, stamp=Stamp(override.owner, now)))
        self._fleet.tell(replace(self._fleet.told, overrides=await self._overrides()))

    async def end_override(self, override: Override, *, now: float) -> None:
        """End it."""
        stamp = Stamp(API, now)
        await self._write(partial(end_override, function=override.function, cluster=override.cluster, stamp=stamp))
        self._fleet.tell(replace(self._fleet.told, overrides=await self._overrides()))

    async def put_policy(self, key: FunctionKey, policy: FunctionPolicy, *, now: float) -> None:
        """Set how a function is sized."""
        await self._put("policy", key, dataclasses.asdict(policy), now)
        told = self._fleet.told
        self._fleet.tell(replace(told, policies={**told.policies, key: policy}))

    async def put_modes(self, modes: ModeTable, *, now: float) -> None:
        """Set what the service may do."""
        await self._put("mode", FLEET, modes.to_json(), now)
        self._fleet.tell(replace(self._fleet.told, modes=modes))

    async def put_graph(self, calls: tuple[Call, ...], *, now: float) -> None:
        """Set the service graph."""
        await self._put("graph", FLEET, {"calls": [dataclasses.asdict(edge) for edge in calls]}, now)
        self._fleet.tell(replace(self._fleet.told, calls=calls))

    async def audit(self, limit: int, cursor: str | None) -> tuple[Sequence[Json], str | None]:
        """Changes by people, newest first; and the cursor after them."""
        after = int(cursor) if cursor else None
        found = await self._store.read(partial(audit_entries, limit=limit + 1, cursor=after))
        shown = [{**dataclasses.asdict(entry), "at": rfc3339(entry.at)} for entry in found[:limit]]
        return shown, str(found[limit - 1].id) if len(found) > limit else None

    async def _overrides(self) -> dict[tuple[FunctionKey, str | None], Override]:
        return _by_place(await self._store.read(overrides))

    async def _put(self, kind: str, name: str, body: Json, now: float) -> None:
        plain = orjson.loads(orjson.dumps(body))
        await self._write(partial(put_document, kind=kind, name=name, body=plain, stamp=Stamp(API, now)))

    async def _write(self, job: Callable[[Connection], T]) -> T:
        return await _in_time(self._store.submit(job))


async def _in_time(work: Awaitable[T], limit_s: float = WRITE_S) -> T:
    """`work`, or StoreDownError when it takes too long; it may still succeed later, which a repeat will find."""
    try:
        async with asyncio.timeout(limit_s):
            return await work
    except TimeoutError:
        raise StoreDownError(f"store: not written within {limit_s:g} s; repeat the request") from None


def _told(connection: Connection, default: Mode) -> Told:
    modes = documents(connection, "mode").get(FLEET)
    graph = documents(connection, "graph").get(FLEET)
    return Told(
        ModeTable(default) if modes is None else _modes(modes),
        _by_place(overrides(connection)),
        {
            FunctionKey(key): validate(FunctionPolicy, body, f"stored policy of {key}")
            for key, body in documents(connection, "policy").items()
        },
        None if graph is None else tuple(Call(**edge) for edge in graph["calls"]),
    )


def _modes(body: Json) -> ModeTable:
    namespaces = {name: Mode(mode) for name, mode in body["namespaces"].items()}
    return ModeTable(Mode(body["default"]), namespaces, body["learned_share"])


def _by_place(found: Sequence[Override]) -> dict[tuple[FunctionKey, str | None], Override]:
    return {(one.function, one.cluster): one for one in found}
