"""Instances that start, serve, wait to be removed and share a cluster: the request-level simulation.

Functions are coupled only where the cluster couples them: the rate at which instances can be started, and the memory.
Both act at decisions, so between two decisions a function's requests run through the compiled queue in one call. A
function with nothing in the system sleeps until its next call or until its scaler wants to be asked.

All policies see the same arrivals and, function by function, the same draws of start-up times. Times in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from prewarm.domain import FloatArray, InputError
from prewarm.sim.events import Agenda, next_tick, tick_at_or_after
from prewarm.sim.pool import FunctionPool
from prewarm.sim.requests import ClusterSettings, Outcome, RequestFunction
from prewarm.sim.scalers import Scaler


def simulate(
    functions: Sequence[RequestFunction],
    scalers: Sequence[Scaler],
    settings: ClusterSettings,
    *,
    rng: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> list[Outcome]:
    """Run every function under its scaler until the horizon; `progress` is told the share of time done."""
    if len(functions) != len(scalers):
        raise InputError(f"simulate: {len(functions)} functions need as many scalers, have {len(scalers)}")
    cluster = _Cluster(functions, settings, rng)
    agenda = Agenda()
    for who in range(len(functions)):
        agenda.put(0.0, who)
    told = 0.0
    while (event := agenda.take(settings.horizon_s)) is not None:
        now_s, who = event
        if now_s != cluster.decided[who]:
            cluster.decide(who, scalers[who], now_s)
            agenda.put(cluster.next_call_s(who, scalers[who], now_s), who)
        if progress is not None and now_s - told >= settings.horizon_s / 200:
            progress(now_s / settings.horizon_s)
            told = now_s
    return [pool.outcome(settings.horizon_s) for pool in cluster.pools]


class _Cluster:
    """The pools of all functions, and the two things they share: the control plane's start rate and the memory."""

    def __init__(
        self, functions: Sequence[RequestFunction], settings: ClusterSettings, rng: np.random.Generator
    ) -> None:
        streams = rng.spawn(len(functions))
        self.settings = settings
        self.pools = [
            FunctionPool(function, settings, stream) for function, stream in zip(functions, streams, strict=True)
        ]
        self.decided: FloatArray = np.full(len(functions), -1.0)
        self._next_start_s = 0.0

    def decide(self, who: int, scaler: Scaler, now_s: float) -> None:
        """Bring the function up to `now_s`, ask its scaler, and start or remove instances."""
        pool = self.pools[who]
        pool.advance(now_s)
        observation = pool.observe(now_s)
        wanted = max(0, scaler.desired(now_s, observation))
        self.decided[who] = now_s
        if wanted < pool.held:
            pool.remove(pool.held - wanted, now_s)
        elif wanted > pool.held:
            self._start(pool, wanted - pool.held, now_s)

    def next_call_s(self, who: int, scaler: Scaler, now_s: float) -> float:
        """When the function's scaler is asked next: on the grid, or at the very call that finds no instance."""
        pool, tick_s = self.pools[who], self.settings.tick_s
        following = next_tick(now_s, tick_s)
        if pool.in_system > 0:
            return following
        wake = max(tick_at_or_after(scaler.wake_s(now_s), tick_s), following)
        call = pool.next_arrival_s
        return min(wake, call if pool.held == 0 else max(tick_at_or_after(call, tick_s), following))

    def _start(self, pool: FunctionPool, count: int, now_s: float) -> None:
        """Start up to `count` instances, as many as the control plane begins before the next tick and memory holds."""
        until_s = next_tick(now_s, self.settings.tick_s)
        for _ in range(count):
            begin_s = max(now_s, self._next_start_s)
            if self.settings.starts_per_s is not None:
                if begin_s >= until_s:
                    return
                self._next_start_s = begin_s + 1.0 / self.settings.starts_per_s
            if not self._make_room(pool, now_s):
                pool.refused += 1
                return
            pool.start(begin_s, now_s)

    def _make_room(self, pool: FunctionPool, now_s: float) -> bool:
        """Evict idle instances, those of the function that was called longest ago first, until one more fits."""
        limit = self.settings.memory_gb
        if limit is None:
            return True
        while sum(each.memory_gb for each in self.pools) + pool.function.memory_gb > limit:
            others = [each for each in self.pools if each is not pool and each.held > 0]
            for each in others:
                each.advance(now_s)
            idle = [each for each in others if each.idle_instances(now_s) > 0]
            if not idle:
                return False
            victim = min(idle, key=lambda each: each.last_arrival_s)
            victim.remove(1, now_s)
            victim.evicted += 1
        return True
