"""Divisions that look at one thing only: nearness, price, room, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnn.mix.rules.factors import delay_price
from gnn.mix.state import State, worth_keeping
from prewarm.domain import COLD_COST, FloatArray, Int32Array


def divided(count: Int32Array, share: FloatArray) -> Int32Array:
    """count (n,) over clusters by share (n, c), largest remainders, ties to the lower index; rows add to count."""
    exact = count[:, None] * share / share.sum(axis=1, keepdims=True)
    whole = np.floor(exact + 1e-9).astype(np.int32)
    rank = np.argsort(np.argsort(-(exact - whole), axis=1, kind="stable"), axis=1, kind="stable")
    plan: Int32Array = whole + (rank < (count - whole.sum(axis=1))[:, None])
    return plan.astype(np.int32)


def kept_warm(state: State) -> Int32Array:
    """Instances worth keeping at the fleet's mean price, (n,)."""
    return worth_keeping(state, np.full(len(state.called), float(state.price @ state.site.share)))


def one_each(at: np.ndarray[tuple[int], np.dtype[np.intp]], state: State) -> Int32Array:
    """All instances of each function in one cluster (n,)."""
    plan = np.zeros(state.warm.shape, np.int32)
    plan[np.arange(len(at)), at] = worth_keeping(state, state.price[at])
    return plan


@dataclass(frozen=True, slots=True)
class OnePool:
    """One shared pool where expected delay and holding cost together are least."""

    name: str = "one pool"

    def decide(self, state: State) -> Int32Array:
        """A pool stays where another place is better by less than a tenth of its holding."""
        far = delay_price(state)[:, None] * (state.mix() @ state.site.delay_s)
        cost = far + state.site.hold[:, None] * (state.price - 0.1 * (state.warm > 0))
        return one_each(np.argmin(cost, axis=1), state)


@dataclass(frozen=True, slots=True)
class AllLocal:
    """What each region's own callers are expected to need, in their region."""

    name: str = "all regions local"

    def decide(self, state: State) -> Int32Array:
        """A region's pool is judged as a function of its own: P(N >= k there) from the calls thinned by its share."""
        mix = state.mix()
        site = state.site
        some = state.called[:, None] * -np.expm1(-state.calls[:, None] * mix)
        busy = state.calls[:, None] * mix / site.per_instance[:, None]
        hold = site.hold[:, None] * state.price
        first = some > hold / (hold + COLD_COST)
        return np.where(first, np.maximum(1, np.ceil(busy - 1e-9)), 0).astype(np.int32)


@dataclass(frozen=True, slots=True)
class CheapestFirst:
    """The cheapest cluster until it is full, then the next (the KubeFleet way)."""

    name: str = "cheapest first"

    def decide(self, state: State) -> Int32Array:
        """Functions fill clusters by rising price, those that are warm there first."""
        count = kept_warm(state)
        plan = np.zeros(state.warm.shape, np.int32)
        left = count.copy()
        for cluster in np.argsort(state.price, kind="stable"):
            first = np.argsort(state.warm[:, cluster] == 0, kind="stable")
            taken = np.cumsum((left * state.site.memory_gb)[first])
            fits = first[taken <= 0.95 * state.room_gb[cluster]]
            plan[fits, cluster] = left[fits]
            left[fits] = 0
        return plan


@dataclass(frozen=True, slots=True)
class ByWeight:
    """Division by a weight of each cluster: its free room (Karmada's available replicas), its capacity (KubeAdmiral),
    or the callers' shares (Hamilton's method on demand).
    """

    weight: str
    power: float = 1.0
    stay: float = 0.01
    """Added to a cluster's share where the function is warm; the published rules have none, and flutter at ties."""
    name: str = ""

    def decide(self, state: State) -> Int32Array:
        """Largest remainders."""
        if self.weight == "callers":
            share = state.mix()
        elif self.weight == "capacity":
            share = np.broadcast_to(state.room_gb, state.warm.shape)
        else:
            taken = state.site.memory_gb @ state.warm
            free = np.maximum(state.room_gb - taken, 0.0)[None, :] + state.site.memory_gb[:, None] * state.warm
            share = np.maximum(free, 1e-6)
        share = share**self.power
        return divided(kept_warm(state), share / share.sum(axis=1, keepdims=True) + self.stay * (state.warm > 0))


@dataclass(frozen=True, slots=True)
class Duplicated:
    """Every cluster gets the whole number (Karmada's duplicated)."""

    name: str = "duplicated"

    def decide(self, state: State) -> Int32Array:
        """The same row in every column."""
        return np.repeat(kept_warm(state)[:, None], len(state.price), axis=1).astype(np.int32)


@dataclass(frozen=True, slots=True)
class AtRandom:
    """A cluster by lot for each function, drawn anew for each minute it is not warm."""

    seed: int = 0
    name: str = "random"

    def decide(self, state: State) -> Int32Array:
        """Warm functions stay; the lot is drawn from the seed and the minute."""
        rng = np.random.default_rng([self.seed, state.minute])
        drawn = rng.integers(0, len(state.price), len(state.called))
        stays = state.warm.sum(axis=1) > 0
        return one_each(np.where(stays, np.argmax(state.warm, axis=1), drawn), state)
