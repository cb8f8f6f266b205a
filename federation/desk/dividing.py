"""Every tick's totals divided over the fleet: the plan is made off the loop, handed on, and told as decisions.

The last plan is where the next one starts from. A tick of a fleet that cannot be seen at all (no member has ever
answered) is not divided: what is decided is recorded as before, and nothing moves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np

from federation.desk.desk import FleetDesk
from federation.pools.tick.fleet_tick import FleetPlan, FleetTerms, plan_fleet
from federation.pools.tick.records import changed
from federation.pools.tick.value import Callers
from federation.snapshot import MEMORY, Snapshot
from prewarm.domain import Decision, Mode
from prewarm.loop.view import TickView

MIB = 1 << 20
CallersOf = Callable[[TickView, float], Callers]
Carry = Callable[[FleetPlan], Awaitable[None]]


class Dividing:
    """A desk's divider. `callers` says who calls; `carry` does what a plan means where decisions are not applied."""

    def __init__(self, desk: FleetDesk, callers: CallersOf, carry: Carry | None = None) -> None:
        self._desk = desk
        self._callers = callers
        self._carry = carry
        self.plan: FleetPlan | None = None
        """The newest plan."""

    async def divide(self, view: TickView) -> tuple[Decision, ...]:
        """What changes in each cluster."""
        snapshot = self._desk.look()
        if not any(one.ages.pods is not None for one in snapshot.clusters):
            return ()
        terms = FleetTerms(
            policy=self._desk.demand.settings.placement,
            overrides=tuple(self._desk.demand.active_overrides(view.now)),
            promised_mib=self._promised(snapshot),
            followed=np.array([view.modes.of(key) is Mode.ACTIVE for key in view.keys], dtype=np.bool_),
            deployed_only=self._desk.carrier is not None,
            draining=self._desk.draining(),
        )
        callers = self._callers(view, view.now)
        self.plan = await asyncio.to_thread(
            plan_fleet, view.decisions, snapshot, self.plan, callers=callers, terms=terms, now=view.now
        )
        if self._carry is not None:
            await self._carry(self.plan)
        return await asyncio.to_thread(lambda plan: tuple(changed(plan)), self.plan)

    def _promised(self, snapshot: Snapshot) -> dict[str, int]:
        """Memory that placements of workloads were promised and have not taken yet, by cluster, in MiB."""
        found = {}
        for one in snapshot.clusters:
            name = one.nodes.resources[MEMORY]
            claims = self._desk.placer.book.of(one.name)
            found[one.name] = sum(dict(claim.shape[0]).get(name, 0) * claim.instances for claim in claims) // MIB
        return found
