"""Schedulers that score clusters and never look back: what is warm stays, what is new goes where the score is best.

Their published rules know nodes and pods; here a cluster stands for the node, and a function's callers for the pods
that it talks to, which favours them. How many instances there are is the same newsvendor number for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.mix.rules.factors import free_share
from gnn.mix.rules.plain import kept_warm
from gnn.mix.state import DELAY_PRICE_PER_S, State
from prewarm.domain import FloatArray, Int32Array


def placed_by(score: FloatArray, count: Int32Array, warm: Int32Array) -> Int32Array:
    """count (n,) instances: those warm where the score (n, c) is highest first, the rest in the best cluster."""
    order = np.argsort(-score, axis=1, kind="stable")
    there = np.take_along_axis(warm, order, axis=1)
    before = np.cumsum(there, axis=1) - there
    stay = np.clip(count[:, None] - before, 0, there)
    stay[:, 0] += count - stay.sum(axis=1)
    plan = np.zeros_like(warm)
    np.put_along_axis(plan, order, stay.astype(np.int32), axis=1)
    return plan


@dataclass(frozen=True, slots=True)
class Spreading:
    """The default scheduler's least-allocated score; with `packing` its opposite, most-allocated."""

    packing: bool = False
    name: str = "least allocated"

    def decide(self, state: State) -> Int32Array:
        """By the free share of each cluster."""
        free = free_share(state)
        score = np.broadcast_to(-free if self.packing else free, state.warm.shape)
        return placed_by(score, kept_warm(state), state.warm)


@dataclass(frozen=True, slots=True)
class TargetLoad:
    """Trimaran's target load packing: the score rises to a target load and falls steeply beyond."""

    target: float = 0.40
    name: str = "target load packing"

    def decide(self, state: State) -> Int32Array:
        """score = (1 - x) u / x + x below the target x, x (1 - u) / (1 - x) above it (scheduler-plugins, Trimaran)."""
        load, target = 1.0 - free_share(state), self.target
        below = (1.0 - target) * load / target + target
        score = np.where(load <= target, below, target * (1.0 - load) / (1.0 - target))
        return placed_by(np.broadcast_to(score, state.warm.shape), kept_warm(state), state.warm)


@dataclass(frozen=True, slots=True)
class NetworkAware:
    """Diktyo's rule: least summed network cost to what it talks to; `nearer_ms`: what a move must gain (inf: none)."""

    nearer_ms: float = float("inf")
    memory: int = 1
    name: str = "network aware"

    def decide(self, state: State) -> Int32Array:
        """By mean delay to the callers, which for a callee includes its caller's instances."""
        far = state.mix(self.memory) @ state.site.delay_s
        count = kept_warm(state)
        plan = placed_by(-far, count, state.warm)
        here = (plan * far).sum(axis=1) / np.maximum(count, 1)
        moved = (here - far.min(axis=1)) * 1000.0 > self.nearer_ms
        plan[moved] = placed_by(-far, count, np.zeros_like(plan))[moved]
        return plan


@dataclass(frozen=True, slots=True)
class QueueingSplit:
    """Sizes every region's own pool by Erlang's formula (after Ursa): the fewest instances with which a call waits with
    at most the chance `waiting`, where the region's calls make a first one worth its holding.
    """

    waiting: float = 0.2
    memory: int = 1
    name: str = "queueing split"

    def decide(self, state: State) -> Int32Array:
        """One queue a region; calls of regions that get no pool go to the function's largest."""
        mix = state.mix(self.memory)
        calls = state.calls[:, None] * mix
        load = calls / state.site.per_instance[:, None]
        plan = erlang_servers(load, self.waiting)
        far = state.site.delay_s.mean()
        saves = DELAY_PRICE_PER_S * state.called[:, None] * calls * far
        plan[saves < state.site.hold[:, None] * state.price] = 0
        count = kept_warm(state)
        lacks = np.maximum(0, count - plan.sum(axis=1))
        rows = np.arange(len(count))
        plan[rows, np.argmax(mix, axis=1)] += lacks
        plan[count == 0] = 0
        return plan


def erlang_servers(load: FloatArray, waiting: float, most: int = 64) -> Int32Array:
    """Fewest servers with which Erlang's C formula gives at most `waiting` for the offered load (any shape)."""
    blocked = np.ones_like(load)
    servers = np.zeros(load.shape, np.int32)
    for count in range(1, most + 1):
        blocked = load * blocked / (count + load * blocked)
        use = np.minimum(load / count, 1.0)
        waits = np.where(load < count, blocked / np.maximum(1.0 - use * (1.0 - blocked), 1e-12), 1.0)
        servers = np.where((servers == 0) & (waits <= waiting), count, servers).astype(np.int32)
        if (servers > 0).all():
            break
    return np.where(servers == 0, most, servers).astype(np.int32)
