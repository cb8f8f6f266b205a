"""What is about to be done, written down before it is begun: a crash between two members leaves a record, not a riddle.

An intent holds how each object was before, so that it can be put back, and what is left to drain, so that it can be
finished. Values of secrets are never in it: a secret that we created is removed again, one that we updated stays.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from federation.apply.rollout.work import Rollout, Stage, Work, ref_json, work_json, work_of
from federation.apply.state.objects import Ref
from federation.manifest.fields import Json
from prewarm.store.people import documents
from prewarm.store.records import drop_record, put_record

T = TypeVar("T")
KIND = "apply"


@dataclass(frozen=True, slots=True)
class Undo:
    """How one object is put back: `before` is what is applied again, None to remove it; `kept` says why it stays."""

    member: str
    ref: Ref
    before: Json | None
    kept: str | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """A rollout under way. `stage` is the phase that was begun.

    written: members that took what they got before the drain. settled: members where nothing is left to be undone (or,
    in the drain, to be drained).
    """

    id: str
    key: str
    at: float
    force: bool
    stage: Stage
    undo: tuple[Undo, ...]
    drain: tuple[Work, ...]
    written: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()

    @property
    def open_members(self) -> frozenset[str]:
        """Members where something is still to be undone or to be finished."""
        told = self.drain if self.stage is Stage.DRAIN else self.undo
        return frozenset(one.member for one in told) - frozenset(self.settled)

    def settle(self, member: str) -> Intent:
        """The intent once nothing is open at `member`."""
        return replace(self, settled=(*self.settled, member))

    def drained_next(self) -> Intent:
        """The intent as the drain begins: from here on it is finished and no longer undone."""
        return replace(self, stage=Stage.DRAIN, settled=())


class Journal(Protocol):
    """Where intents are kept; `save` returns only when the intent is durable."""

    async def load(self) -> tuple[Intent, ...]:
        """Every intent that was not cleared, oldest first."""
        ...

    async def save(self, intent: Intent) -> None:
        """Keep it, in place of its former state."""
        ...

    async def clear(self, intent_id: str) -> None:
        """It is over."""
        ...

    def hold(self, key: str) -> AbstractAsyncContextManager[bool]:
        """Carry out rollouts of this workload alone; False where another process does."""
        ...


class Durable(Protocol):
    """What the journal needs of `prewarm.store.Store`."""

    async def submit(self, job: Callable[[Connection], T]) -> T:
        """Run a writing job; the result once it is committed."""
        ...

    async def read(self, job: Callable[[Connection], T]) -> T:
        """Run a reading job."""
        ...

    def hold(self, name: str) -> AbstractAsyncContextManager[bool]:
        """Hold a name against other processes; False where one of them holds it."""
        ...


class StoreJournal:
    """The journal in the service's database."""

    def __init__(self, store: Durable) -> None:
        self._store = store

    async def load(self) -> tuple[Intent, ...]:
        """Every intent that was not cleared, oldest first."""
        kept = await self._store.read(partial(documents, kind=KIND))
        return tuple(sorted((intent_of(body) for body in kept.values()), key=lambda one: (one.at, one.id)))

    async def save(self, intent: Intent) -> None:
        """Keep it, in place of its former state."""
        body = intent_json(intent)
        await self._store.submit(partial(put_record, kind=KIND, name=intent.id, body=body, at=intent.at))

    async def clear(self, intent_id: str) -> None:
        """It is over."""
        await self._store.submit(partial(drop_record, kind=KIND, name=intent_id))

    def hold(self, key: str) -> AbstractAsyncContextManager[bool]:
        """Carry out rollouts of this workload alone; False where another process does."""
        return self._store.hold(f"{KIND} {key}")


def intent_for(rollout: Rollout, undo: tuple[Undo, ...], at: float) -> Intent:
    """The intent to carry out `rollout`."""
    return Intent(rollout.id, rollout.key, at, rollout.force, Stage.SURGE, undo, rollout.of(Stage.DRAIN))


def intent_json(intent: Intent) -> dict[str, Any]:
    """An intent as JSON."""
    return {
        "id": intent.id,
        "key": intent.key,
        "at": intent.at,
        "force": intent.force,
        "stage": intent.stage.value,
        "undo": [
            {"member": one.member, "ref": ref_json(one.ref), "before": one.before, "kept": one.kept}
            for one in intent.undo
        ],
        "drain": [work_json(work) for work in intent.drain],
        "written": list(intent.written),
        "settled": list(intent.settled),
    }


def intent_of(raw: dict[str, Any]) -> Intent:
    """The inverse."""
    undo = tuple(Undo(one["member"], Ref(*one["ref"]), one["before"], one["kept"]) for one in raw["undo"])
    drain = tuple(work_of(one) for one in raw["drain"])
    return Intent(
        id=raw["id"],
        key=raw["key"],
        at=raw["at"],
        force=raw["force"],
        stage=Stage(raw["stage"]),
        undo=undo,
        drain=drain,
        written=tuple(raw["written"]),
        settled=tuple(raw["settled"]),
    )
