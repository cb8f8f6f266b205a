"""What a policy sees before a minute: forecasts, callers so far, prices and room as last read, and what is warm.

Nothing of the coming minute is in it, and nothing of the world's hidden parts (callers' true mix, shocks to come). The
arrays are the replay's own and change with the next minute: whoever keeps one copies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numba
import numpy as np

from gnn.mix.world.functions import MOST_NEEDED
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S, Float32Array, FloatArray, Int32Array

DELAY_PRICE_PER_S = 3.0
MISSING_PRICE = 10.0
MINUTE_S = 60.0
HALF_LIVES_MIN = (30.0, 240.0)


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """What does not change during a day. delay_s: (c, c) one way, row the caller's; share: (c,) of the nodes; the rest
    (n,): memory of an instance; J of an instance kept for a minute at price 1; calls a minute that one serves;
    function that calls it (-1 none) and the size of such a call.
    """

    delay_s: FloatArray
    share: FloatArray
    memory_gb: FloatArray
    hold: FloatArray
    per_instance: FloatArray
    caller: Int32Array
    payload_kib: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """minute: the one to decide. called: (n,) P(at least one call in it); tail: (n, 64) P(N >= k | called), k from 1;
    calls: (n,) calls expected if called; seen: (2, n, c) calls so far by where they came from, forgotten with
    `HALF_LIVES_MIN`; price, room_gb: (c,) in the minute before; warm: (n, c) instances now.
    """

    site: Site
    minute: int
    called: Float32Array
    tail: Float32Array
    calls: FloatArray
    seen: FloatArray
    price: FloatArray
    room_gb: FloatArray
    warm: Int32Array

    def mix(self, memory: int = 1, prior: float = 1.5) -> FloatArray:
        """Callers' shares by cluster, (n, c): what was seen with one of the half-lives, and `prior` calls spread as the
        nodes are.
        """
        tally = self.seen[memory] + prior * self.site.share
        shares: FloatArray = tally / tally.sum(axis=1, keepdims=True)
        return shares

    def p_at_least(self, level: int) -> FloatArray:
        """P(N >= level), (n,)."""
        chance: FloatArray = self.called.astype(np.float64) * self.tail[:, min(level, MOST_NEEDED) - 1]
        return chance


class Policy(Protocol):
    """Decides the instances of all functions in all clusters for the coming minute."""

    @property
    def name(self) -> str:
        """As in the tables."""
        ...

    def decide(self, state: State) -> Int32Array:
        """(n, c) instances wanted; more than the room are refused, later functions first."""
        ...


def holding_cost(memory_gb: FloatArray) -> FloatArray:
    """J of keeping an instance for a minute at price 1, (n,)."""
    return memory_gb * MINUTE_S * IDLE_COST_PER_GB_S


def worth_keeping(state: State, price: FloatArray) -> Int32Array:
    """Instances worth keeping at `price` (n,): levels with P(N >= k) above hold / (hold + cold start), (n,)."""
    hold = state.site.hold * price
    return counted_levels(state.called, state.tail, hold / (hold + COLD_COST))


def counted_levels(called: Float32Array, tail: Float32Array, limit: FloatArray) -> Int32Array:
    """Levels k with P(N >= k) above the limit of each function (n,), counted from 1 to the first that is not; (n,)."""
    count = np.zeros(len(called), np.int32)
    _count_levels(called, tail, limit, count)
    return count


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _count_levels(called: Any, tail: Any, limit: Any, count: Any) -> None:
    for i in range(len(called)):
        while count[i] < tail.shape[1] and called[i] * tail[i, count[i]] > limit[i]:
            count[i] += 1
