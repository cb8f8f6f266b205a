"""One collection of one member, kept as it is there: list in pages, watch, and list again whenever in doubt.

The connection is not trusted: a watch has an end that we ask for, a longest silence, and every so often everything is
listed afresh. Objects are reduced as each page or line comes, so memory does not grow with their size.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from types import NoneType
from typing import Generic, TypeVar

from federation.informer.read.shape import Raw, part, parts, text
from federation.informer.reflect.course import Course
from federation.informer.reflect.decode import Event, Failure, decode, is_expired, key_of, uid_of
from federation.informer.reflect.resource import Resource
from federation.informer.reflect.store import Item, Store
from federation.members.api import MemberError, RefusedError
from federation.members.client import MemberClient

Kept = TypeVar("Kept")
log = logging.getLogger("federation.informer")


class Standing(StrEnum):
    """`waiting` for the first list; `live`; `failing`; `forbidden` to us; `absent`: there is no such collection."""

    WAITING = "waiting"
    LIVE = "live"
    FAILING = "failing"
    FORBIDDEN = "forbidden"
    ABSENT = "absent"


_SETTLED = {403: Standing.FORBIDDEN, 404: Standing.ABSENT}


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """How a collection is followed."""

    page: int = 500
    list_deadline_s: float = 30.0
    """For one page."""
    watch_s: tuple[float, float] = (300.0, 600.0)
    """A watch is asked to last between these."""
    resync_s: float = 3_600.0
    """Everything is listed afresh this often, spread by a tenth."""
    settled_s: float = 120.0
    """What is forbidden or absent is asked for again after this."""


@dataclass(slots=True)
class Report:
    """What a reflector has to say of itself. seen_at: when its store was last known true, None for never."""

    standing: Standing = Standing.WAITING
    seen_at: float | None = None
    why: str = ""
    lists: int = 0
    watches: int = 0
    accidents: int = 0


@dataclass(slots=True)
class Reflector(Generic[Kept]):
    """Keeps `store` as `resource` is at `client`'s member; `clock` tells seconds since the epoch."""

    client: MemberClient
    resource: Resource[Kept]
    store: Store[Kept]
    options: ReflectorOptions
    rng: Random
    clock: Callable[[], float]
    report: Report = field(default_factory=Report)
    _course: Course = field(default_factory=Course)
    _resync_at: float = 0.0

    async def run(self) -> None:
        """For ever; the outermost loop, so whatever goes wrong is logged, counted and followed by a list."""
        while True:
            try:
                await self._turn()
            except Exception:
                log.exception("%s: %s", self.client.name, self.resource.name)
                self.report.accidents += 1
                self._doubt("an error of ours")
            await self._rest()

    async def _rest(self) -> None:
        """The pause, cut short when a member that was left alone answers again."""
        pause_s = self._pause_s()
        if self.client.back.is_set():
            await asyncio.sleep(pause_s)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self.client.back.wait()

    async def _turn(self) -> None:
        """One list where one is due, and one watch to its end."""
        try:
            if self._course.version is None:
                await self._list()
            await self._watch()
        except RefusedError as error:
            self._refused(error)
        except MemberError as error:
            self._course = self._course.cut()
            self._fail(str(error))

    async def _list(self) -> None:
        """All pages; those of one list belong to one version, so an expired page means all of them again."""
        began, found = self.clock(), list[tuple[str, Item[Kept]]]()
        query = {"limit": str(self.options.page)}
        while True:
            answer = await self.client.read(
                self.resource.path,
                query=query,
                accept=self.resource.list_form,
                deadline_s=self.options.list_deadline_s,
            )
            meta = part(answer, "metadata")
            if not isinstance(answer.get("items", ""), list | NoneType) or text(meta, "resourceVersion") is None:
                raise MemberError(self.client.name, f"what should be a list of {self.resource.name} is none")
            found.extend(self._items(parts(answer, "items")))
            if not (more := text(meta, "continue")):
                break
            query["continue"] = more
        self.store.replace(found)
        self.report.lists += 1
        self._seen(began)
        self._course = self._course.listed(text(meta, "resourceVersion") or "")
        self._resync_at = _steady() + self.options.resync_s * self.rng.uniform(0.9, 1.1)

    def _items(self, raws: Iterable[Raw]) -> list[tuple[str, Item[Kept]]]:
        items = []
        for raw in raws:
            if (key := key_of(raw)) is not None:
                version = text(part(raw, "metadata"), "resourceVersion") or ""
                items.append((key, Item(version, uid_of(raw), self.resource.read(raw))))
        return items

    async def _watch(self) -> None:
        lasts_s = self.rng.uniform(*self.options.watch_s)
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._course.version or "",
            "timeoutSeconds": str(round(lasts_s)),
        }
        opened = _steady()
        async with self.client.stream(self.resource.path, query=query, accept=self.resource.watch_form) as lines:
            self.report.watches += 1
            self._seen(self.clock())
            try:
                await self._take(lines, opened, lasts_s)
            except MemberError as error:
                self._course = self._course.cut(_steady() - opened)
                self._fail(str(error))

    async def _take(self, lines: AsyncIterator[bytes], opened: float, lasts_s: float) -> None:
        count = 0
        async for line in lines:
            count += 1
            decoded = decode(line)
            if isinstance(decoded, Failure):
                self._end(decoded, _steady() - opened)
                return
            if isinstance(decoded, Event):
                self.store.apply(decoded)
            self._course = self._course.moved(decoded.version)
            self._seen(self.clock())
            if _steady() >= self._resync_at:
                break
        self._course = self._course.ended(_steady() - opened, count, asked_s=lasts_s)
        if _steady() >= self._resync_at:
            self._course = Course(None, self._course.failures)

    def _end(self, failure: Failure, lived_s: float) -> None:
        self._course = self._course.lost(lived_s) if failure.relist else self._course.cut(lived_s)
        self._fail(failure.why)

    def _refused(self, error: RefusedError) -> None:
        watch_refused = error.status in _SETTLED and self._course.version is not None
        if watch_refused or is_expired(error.status, error.reason, error.message):
            self._doubt(str(error))
            return
        self._course = self._course.cut()
        self._fail(str(error))
        self.report.standing = _SETTLED.get(error.status, Standing.FAILING)
        if error.status == 404:
            self.store.replace(())
            self._course = Course()

    def _doubt(self, why: str) -> None:
        self._course = self._course.lost()
        self._fail(why)

    def _fail(self, why: str) -> None:
        self.report.standing, self.report.why = Standing.FAILING, why

    def _seen(self, at: float) -> None:
        self.report.standing, self.report.seen_at, self.report.why = Standing.LIVE, at, ""

    def _pause_s(self) -> float:
        if self.report.standing in _SETTLED.values():
            return self.options.settled_s * self.rng.uniform(0.9, 1.1)
        return self._course.pause_s(self.rng.random())


def _steady() -> float:
    """Seconds of a clock that is never set."""
    return asyncio.get_running_loop().time()
