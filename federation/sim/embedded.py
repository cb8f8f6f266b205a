"""The embedded world's fleet as one object: it shows itself, says who calls, and carries plans out.

It speaks in the rows of whoever asks. The service's rows are its history's and may hold functions that the world does
not know (somebody pushed their counts); those are planned like any other and run nowhere. Planning is the code that a
real fleet goes through, and is not done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from federation.pools.tick.fleet_tick import FleetPlan
from federation.pools.tick.value import Callers, closeness
from federation.sim.demand import Demand
from federation.sim.fleet import Kind, SimulatedFleet
from federation.sim.shape import CLUSTERS, ClusterShape, links_of
from federation.snapshot import Snapshot
from prewarm.domain import FloatArray, FunctionKey, Int32Array, IntArray
from prewarm.settings import Call
from prewarm.sim.world_calls import Population


class EmbeddedFleet:
    """Three clusters under a population of functions; seeded, and without a clock of its own."""

    def __init__(self, seed: int, people: Population, *, clusters: tuple[ClusterShape, ...] = CLUSTERS) -> None:
        self._demand = Demand(seed, people)
        memory = np.maximum(np.rint(people.memory_mib), 1).astype(np.int64)
        self.clusters = SimulatedFleet(
            seed, Kind(people.keys, memory, people.start_s), self._demand.graph, clusters=clusters
        )
        self._rows = {key: row for row, key in enumerate(people.keys)}
        self._near = _nearness(self._demand.regions, clusters)

    @property
    def graph(self) -> tuple[Call, ...]:
        """The service graph with the payloads of its calls."""
        return self._demand.graph

    def snapshot(self, now: float) -> Snapshot:
        """The clusters at `now`."""
        return self.clusters.snapshot(now)

    def callers(self, keys: Sequence[FunctionKey], calls_per_s: FloatArray, now: float) -> Callers:
        """Who calls the functions of `keys` now; calls_per_s: (n,) of the world's own functions, as seen lately."""
        own = self._demand.callers(calls_per_s, now)
        here, there = self._both(keys)
        rate = np.zeros((len(keys), len(own.regions)))
        rate[here] = own.rate[there]
        row_of = np.full(len(self._rows), -1, dtype=np.int64)
        row_of[there] = here
        known = (row_of[own.caller] >= 0) & (row_of[own.callee] >= 0)
        return replace(
            own,
            rate=rate,
            caller=row_of[own.caller][known],
            callee=row_of[own.callee][known],
            calls=own.calls[known],
            payload_kib=own.payload_kib[known],
        )

    def existing(self) -> IntArray:
        """Ready or starting instances of the world's functions over all clusters, (n,)."""
        total: IntArray = self.clusters.instances.existing().sum(axis=1)
        return total

    def apply(self, plan: FleetPlan, now: float, *, kept_alive: Int32Array) -> None:
        """Hand the plan of the world's own functions to its clusters.

        kept_alive: (n,) what a function that nobody decides for falls back to where it is, -1 for the others.
        """
        wanted = np.zeros((len(self._rows), len(self.clusters.names)), dtype=np.int64)
        here, there = self._both(plan.keys)
        columns = [plan.names.index(name) for name in self.clusters.names]
        wanted[there] = plan.answer.plan[here][:, columns]
        alone = kept_alive >= 0
        there_now = self.clusters.instances.existing()[alone]
        before = np.cumsum(there_now, axis=1) - there_now
        wanted[alone] = np.clip(kept_alive[alone, None] - before, 0, there_now)
        self.clusters.apply(wanted, now)

    def need(self, need: IntArray | Int32Array, now: float) -> IntArray:
        """Calls that need so many instances of each of the world's functions, (n,): the cold starts of it, (n,)."""
        near: FloatArray = self._demand.mix(now) @ self._near
        return self.clusters.start_on_demand(np.asarray(need, dtype=np.int64), near, now)

    def warm(self, keys: Sequence[FunctionKey]) -> Int32Array:
        """Instances that are ready or starting anywhere, (n,); 0 for functions of others."""
        existing = self.clusters.instances.existing().sum(axis=1)
        here, there = self._both(keys)
        found = np.zeros(len(keys), dtype=np.int32)
        found[here] = existing[there]
        return found

    def _both(self, keys: Sequence[FunctionKey]) -> tuple[IntArray, IntArray]:
        """Rows of the world's functions among `keys`, and their rows in the world."""
        pairs = [(here, self._rows[key]) for here, key in enumerate(keys) if key in self._rows]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def _nearness(regions: tuple[str, ...], clusters: tuple[ClusterShape, ...]) -> FloatArray:
    """How near each cluster is to each region, (R, c): of the region's nearest cluster."""
    close = closeness(links_of(clusters).delay_ms)
    rows = [[at for at, one in enumerate(clusters) if one.region == region] for region in regions]
    return np.array([close[row].max(axis=0) if row else np.full(len(clusters), 0.5) for row in rows])
