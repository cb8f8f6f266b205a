"""A cluster that a person empties: its pools are started elsewhere first, and let go there once those are ready.

A pool that leaves keeps what it has while as many as are wanted start in the other clusters; at a later tick, when the
others report them ready, it keeps nothing. Nobody waits in between, and where there is no room elsewhere it stays. How
many may be under way is the hour's limit of moves, smallest pools first, so that the most pools are safe soonest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from federation.pools.question import Limits, SeedArray
from prewarm.domain import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Pools:
    """What the pools want and have: wanted (n,) in all, before (n, c) as planned last, ready (n, c), seed (n,)."""

    wanted: IntArray
    before: IntArray
    ready: IntArray
    seed: SeedArray


@dataclass(frozen=True, slots=True)
class Emptying:
    """The limits that empty clusters, and what stays there until it is replaced, beyond what is wanted, (n,)."""

    limits: Limits
    kept: IntArray

    def started(self, plan: IntArray, before: IntArray, draining: BoolArray) -> int:
        """Instances that a plan starts in the other clusters to replace what is kept."""
        more = plan[:, ~draining].sum(axis=1) - before[:, ~draining].sum(axis=1)
        return int(np.minimum(np.maximum(more, 0), self.kept).sum())


def emptied(limits: Limits, pools: Pools, *, draining: BoolArray, budget: int) -> Emptying:
    """draining: (c,). budget: instances that may be started elsewhere now. What people said of a pool there holds."""
    there = pools.before[:, draining].sum(axis=1)
    elsewhere = pools.before[:, ~draining].sum(axis=1)
    replaced = (there > 0) & (pools.ready[:, ~draining].sum(axis=1) >= pools.wanted)
    short = np.where(there > 0, np.maximum(pools.wanted - elsewhere, 0), 0)
    going = (there > 0) & ~replaced & _within(short, pools.seed, budget)
    columns = draining[None, :]
    here = np.clip(pools.before, limits.least, np.maximum(limits.most, limits.least))
    stays, goes = going[:, None] & columns, replaced[:, None] & columns
    least = np.where(stays, here, limits.least)
    most = np.where(stays, here, np.where(goes, limits.least, limits.most))
    kept = np.where(going, np.where(columns, here, 0).sum(axis=1), 0)
    return Emptying(replace(limits, least=least, most=most), kept.astype(np.int64))


def _within(short: IntArray, seed: SeedArray, budget: int) -> BoolArray:
    """Pools that may begin: those that begin already, then the smallest while the budget lasts; one at least."""
    order = np.lexsort((seed, short))
    spent = np.cumsum(short[order]) - short[order]
    allowed = np.zeros(len(short), dtype=np.bool_)
    allowed[order] = (short[order] == 0) | (spent < budget)
    return allowed
