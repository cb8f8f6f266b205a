"""The fleet behind `prewarm serve`: real members from kubeconfigs, wired to the demand side, or none."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import numpy as np

from federation.apply.ready import StatusObserver
from federation.apply.rights import READ, WRITE, Reviewer
from federation.apply.rollout.carry import Carrier
from federation.apply.rollout.journal import StoreJournal
from federation.apply.rollout.means import Means
from federation.apply.scale import ClusterApplier
from federation.apply.writer import writers_of
from federation.desk.desk import FleetDesk
from federation.desk.dividing import Dividing
from federation.desk.mind import Minder
from federation.desk.outlook import Outlooks
from federation.desk.records import Records
from federation.desk.watched import WatchedView
from federation.kubeconfig.source import Places
from federation.live import live_fleet
from federation.members.api import Api, MemberError
from federation.placement.placer import Placer
from federation.pools.tick.value import Callers
from prewarm.cli.fleet_part import FleetPart, measure
from prewarm.domain import FunctionKey, Int32Array
from prewarm.http.auth import CHALLENGE, Right
from prewarm.http.problem import ProblemError
from prewarm.loop.fleet import Fleet
from prewarm.loop.record_only import RecordOnly
from prewarm.loop.tick import Platform
from prewarm.loop.view import TickView
from prewarm.settings import Settings
from prewarm.store import Store


class FleetPlatform:
    """Instances that members report; functions that run nowhere in the fleet are as they were decided last."""

    def __init__(self, desk: FleetDesk, otherwise: Platform) -> None:
        self._desk = desk
        self._otherwise = otherwise

    def warm(self, keys: Sequence[FunctionKey]) -> Int32Array:
        """Ready or starting over all members, (n,); a dark member counts as it was last seen."""
        found = self._otherwise.warm(keys).copy()
        reports = [one.running for one in self._desk.view.snapshot(self._desk.now()).clusters if one.running]
        for row, key in enumerate(keys):
            here = [report[key].existing for report in reports if key in report]
            if here:
                found[row] = sum(here)
        return found


class TokenRights:
    """Asks the member that the configuration names about tokens and about their bearers' rights by namespace."""

    def __init__(self, desk: FleetDesk) -> None:
        self._desk = desk
        self._asked: tuple[Api, Reviewer] | None = None

    async def __call__(self, token: str, right: Right, namespaces: frozenset[str]) -> None:
        """Problem 401, 403 or 503 unless the bearer holds the right in all of them."""
        try:
            reviewer = self._reviewer()
            user = await reviewer.user_of(token)
            if user is None:
                raise ProblemError(401, "the token is known neither here nor to the cluster", headers=CHALLENGE)
            verb = WRITE if right is Right.WRITE else READ
            for namespace in sorted(namespaces):
                allowed = await reviewer.allows(user, verb, namespace)
                if not allowed.yes:
                    where = f"in namespace {namespace}" if namespace else "in all namespaces"
                    raise ProblemError(403, f"{user.name} may not {verb} placements.prewarm.dev {where}")
        except MemberError as error:
            raise ProblemError(503, f"the token cannot be reviewed: {error}", headers={"Retry-After": "2"}) from None

    def _reviewer(self) -> Reviewer:
        """One for the member's client of now, whose answers it keeps for a few seconds."""
        name = self._desk.demand.settings.auth.token_review
        api = self._desk.clients().get(name or "")
        if api is None:
            raise ProblemError(503, f"auth.token_review: {name} is not a member of the fleet")
        if self._asked is None or self._asked[0] is not api:
            self._asked = (api, Reviewer(api, time.monotonic))
        return self._asked[1]


@asynccontextmanager
async def real_fleet(
    places: Places, settings: Settings, store: Store, fleet: Fleet, *, recorded: RecordOnly
) -> AsyncIterator[FleetPart]:
    """The fleet that `places` describe as a part of the service; waits for no member."""
    async with live_fleet(places, settings, os.environ) as live:
        view = WatchedView(live, settings)

        def clients() -> Mapping[str, Api]:
            return live.members.clients

        writers = writers_of(clients)
        carrier = Carrier(Means(writers, StoreJournal(store), StatusObserver(writers)))
        placer = Placer(view.snapshot(fleet.clock.now()))
        desk = FleetDesk(fleet, view, Records(store), placer, carrier, clients)
        await desk.recall()
        part = FleetPart(
            desk,
            FleetPlatform(desk, recorded),
            ClusterApplier(clients),
            Dividing(desk, _CallersOf(fleet)),
            review=TokenRights(desk),
            configure=view.configure,
        )
        minder, outlooks = Minder(desk), Outlooks(desk)
        measure(
            desk,
            lambda: {"members": live.members.accidents, "place": minder.accidents, "outlook": outlooks.accidents},
        )
        part.tasks = {"fleet": lambda: _as_long_as(live.task), "place": minder.run, "outlook": outlooks.run}
        try:
            yield part
        finally:
            await desk.close()


@dataclass(frozen=True, slots=True)
class _CallersOf:
    """Callers as far as the service graph tells them: nobody says from which region calls come."""

    fleet: Fleet

    def __call__(self, view: TickView, now: float) -> Callers:
        """Edges between known functions, each as busy as its caller was in the last minute."""
        used = self.fleet.used_in(int(now // 60) - 1)[: len(view.keys)]
        rate = np.where(np.isfinite(used), used, 0.0)[:, None]
        return Callers(("",), rate).with_graph(self.fleet.calls, {str(key): row for row, key in enumerate(view.keys)})


async def _as_long_as(task: asyncio.Task[None]) -> None:
    """Ends, with its error, when the watches do."""
    await asyncio.shield(task)
