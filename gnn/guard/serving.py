"""The guarded scorer as a part of the service: kept over restarts, told over HTTP, counted in metrics.

Its state is small and changes rarely: how far people let it go, where each namespace stands, and an alarm. Every change
of a share is a document with an audit entry; a window that changed nothing is a record without one.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge

from federation.desk.learned import Allowed
from federation.placement.scorer import Declined, Question, Weighing
from federation.snapshot import Snapshot
from gnn.guard.book import read_standing, standing_json
from gnn.guard.guarded import Alarm, Guarded
from gnn.guard.trial import Interval, Standing
from prewarm.domain import PrewarmError, rfc3339
from prewarm.store import Store
from prewarm.store.people import Stamp, documents, put_document
from prewarm.store.records import drop_record, put_record

log = logging.getLogger("gnn.guard")
LIMITS, STANDING, ALARM, FLEET = "scorer-limits", "scorer", "scorer-alarm", "fleet"
ACTOR = "guard"
ROUND_S = 2.0
_CHANGES = 20


class Served:
    """What the desk has as its scorer."""

    def __init__(self, guarded: Guarded, store: Store, registry: CollectorRegistry) -> None:
        self.guarded = guarded
        self._store = store
        self._shares: dict[str, float] = {}
        self._alarm: Alarm | None = None
        self._decisions = Counter(
            "prewarm_scorer_decisions", "Decisions by what became of the learned answer", ["became", "why"],
            registry=registry,
        )  # fmt: skip
        self._share = Gauge("prewarm_scorer_share", "Share that it decides", ["namespace"], registry=registry)
        self._state = Gauge("prewarm_scorer_alarm", "1 while out of distribution", registry=registry)
        self._level = Gauge("prewarm_scorer_level", "Distance from what was trained for; 1 alarms", registry=registry)
        self.accidents = Counter("prewarm_scorer_accidents", "Rounds that ended by an error of ours", registry=registry)
        guarded.watchers.append(lambda became, why: self._decisions.labels(became, why).inc())

    def weigh(self, question: Question) -> Weighing | Declined:
        """As the guard says."""
        return self.guarded.weigh(question)

    async def recall(self) -> None:
        """Take up what was kept; standings of other weights say nothing about these."""
        guard = self.guarded
        limits = (await self._store.read(partial(documents, kind=LIMITS))).get(FLEET)
        if limits is not None:
            guard.allowed = Allowed(limits["mode"], limits["share"], limits["namespaces"])
        kept = await self._store.read(partial(documents, kind=STANDING))
        for space, body in kept.items():
            if body["version"] == guard.scorer.version:
                guard.book.standings[space] = read_standing(body)
            self._shares[space] = float(body["share"])
            guard.book.unkept.add(space)
        alarm = (await self._store.read(partial(documents, kind=ALARM))).get(FLEET)
        if alarm is not None:
            guard.alarm = self._alarm = Alarm(**alarm)

    async def allow(self, allowed: Allowed, stamp: Stamp) -> None:
        """From now on this far."""
        body = {"mode": allowed.mode, "share": allowed.share, "namespaces": dict(allowed.namespaces)}
        await self._store.submit(partial(put_document, kind=LIMITS, name=FLEET, body=body, stamp=stamp))
        self.guarded.allowed = allowed

    async def run(self, look: Callable[[], Snapshot], now: Callable[[], float]) -> None:
        """For ever: price pairs, close windows, keep what changed. A round that fails is logged, and the next comes."""
        while True:
            try:
                await self.round(look(), now())
            except PrewarmError as error:
                log.warning("the comparison is not kept: %s", error)
            except Exception:
                self.accidents.inc()
                log.exception("the comparison stands still")
            await asyncio.sleep(ROUND_S)

    async def round(self, seen: Snapshot, now: float) -> None:
        """One of them."""
        guard = self.guarded
        guard.scorer.warm(seen)
        guard.book.settle(seen, now)
        guard.book.close(now, guard.reach())
        self._measure()
        for space in sorted(guard.book.unkept):
            await self._keep(space, guard.book.standing(space), now)
            guard.book.unkept.discard(space)
        if guard.alarm is not self._alarm:
            await self._keep_alarm(guard.alarm, now)

    def told(self) -> dict[str, object]:
        """As `GET /v1/scorer` says it."""
        guard = self.guarded
        scorer, allowed = guard.scorer, guard.allowed
        return {
            "name": scorer.name,
            "version": scorer.version,
            "form": scorer.form.value,
            "allowed": {
                "mode": allowed.mode,
                "share": allowed.share,
                "namespaces": dict(allowed.namespaces),
            },
            "deadline_ms": scorer.deadline_ms,
            "took_ms": scorer.took_ms(),
            "guard": _guard_json(guard),
            "decisions": {
                "used": guard.tally.used,
                "shadowed": guard.tally.shadowed,
                "declined": dict(guard.tally.declined),
            },
            "namespaces": [_row(guard, space, standing) for space, standing in guard.standings()],
            "changes": [asdict(one) | {"at": rfc3339(one.at)} for one in list(guard.book.changes)[-_CHANGES:]],
        }

    async def _keep(self, space: str, standing: Standing, now: float) -> None:
        body = standing_json(standing) | {"version": self.guarded.scorer.version}
        changed = self._shares.get(space, 0.0) != standing.share
        self._shares[space] = standing.share
        if changed:
            log.warning("learned share of %s is %g: %s", space, standing.share, standing.why)
            stamp = Stamp(ACTOR, now)
            await self._store.submit(partial(put_document, kind=STANDING, name=space, body=body, stamp=stamp))
        else:
            await self._store.submit(partial(put_record, kind=STANDING, name=space, body=body, at=now))

    async def _keep_alarm(self, alarm: Alarm | None, now: float) -> None:
        if alarm is None:
            await self._store.submit(partial(drop_record, kind=ALARM, name=FLEET))
        else:
            await self._store.submit(partial(put_record, kind=ALARM, name=FLEET, body=asdict(alarm), at=now))
        self._alarm = alarm

    def _measure(self) -> None:
        guard = self.guarded
        for space, _ in guard.standings():
            self._share.labels(space).set(guard.share_of(space))
        self._state.set(guard.alarm is not None)
        self._level.set(guard.reading.level if guard.reading is not None else 0.0)


def _guard_json(guard: Guarded) -> dict[str, Any]:
    if guard.detector is None:
        return {"state": "none", "since": None, "why": None, "level": None, "outstanding": None, "false_alarms": None}
    level = None if guard.reading is None or not math.isfinite(guard.reading.level) else guard.reading.level
    alarm = guard.alarm
    return {
        "state": "calm" if alarm is None else "alarm",
        "since": None if alarm is None else rfc3339(alarm.since),
        "why": None if alarm is None else alarm.why,
        "level": level,
        "outstanding": guard.outstanding(),
        "false_alarms": float(guard.detector.rate),
    }


def _row(guard: Guarded, space: str, standing: Standing) -> dict[str, Any]:
    window = guard.book.windows.get(space)
    return {
        "namespace": space,
        "share": guard.share_of(space),
        "allowed": guard.allowed.of(space),
        "streak": standing.streak,
        "windows": standing.windows,
        "since": rfc3339(standing.since) if standing.since else None,
        "why": standing.why,
        "last": None if standing.last is None else _interval_json(standing.last),
        "open_pairs": 0 if window is None else window.pairs,
    }


def _interval_json(found: Interval) -> dict[str, Any] | None:
    return asdict(found) if all(map(math.isfinite, (found.mean, found.low, found.high))) else None
