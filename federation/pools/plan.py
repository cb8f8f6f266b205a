"""The plan of all pools over all clusters: exact totals, rooms kept, and no more changes than the demand's own.

In this order: what people insist on; pools that shrink let go, first in clusters that are over-full; what a cluster has
no room for any more, or may not hold, leaves it; pools that grow (and what had to leave) are placed, by priority, and
within one priority as `share.fair_part` says; then, where allowed, instances move for the better. Nothing that runs is
displaced to make room for something else, so a pool whose demand did not change stays where it is unless its cluster
lost room or is filtered out.

Filling goes in rounds: each pool asks for its target over the clusters that still have room for one instance of it;
where too much is asked, the room is shared fairly and the rest asks elsewhere. Room only shrinks, so a cluster that is
closed to a pool stays closed, and an instance is left unplaced only when no cluster that it may use has room for it.

Cost: O(n c) for the columns, plus O(rounds x asking pools x c). Pools that change nothing ask for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.pools.question import (
    TIE,
    ClusterRoom,
    Limits,
    PoolDemand,
    PoolPlan,
    Preference,
    Steadiness,
)
from federation.pools.scarcity import room_prices
from federation.pools.share import fair_part
from federation.pools.targets import in_order, round_exactly, shares, ties
from prewarm.domain import BoolArray, FloatArray, IntArray

_SETTLING = 6
"""Most rounds of taking up room that prices left over."""
_GAIN = 1e-6
_UNLIMITED = 1 << 40


def plan_pools(
    pools: PoolDemand,
    clusters: ClusterRoom,
    *,
    preference: Preference,
    limits: Limits | None = None,
    previous: IntArray | None = None,
    steadiness: Steadiness | None = None,
) -> PoolPlan:
    """How many instances of each pool each cluster holds; see the module for the rules. `previous`: (n, c)."""
    shape = (len(pools), len(clusters))
    before = np.zeros(shape, dtype=np.int64) if previous is None else np.asarray(previous, dtype=np.int64)
    work = _Work.begin(pools, clusters, preference, limits or Limits())
    floor = work.insist()
    wanted = np.maximum(pools.wanted, floor.sum(axis=1))
    work.wanted = wanted
    work.keep(before, floor)
    kept = work.plan.sum(axis=1)
    evicted = np.maximum(np.minimum(before.sum(axis=1), wanted) - kept, 0)
    work.weigh_scarcity()
    work.place()
    work.settle(before, floor)
    improved = work.improve(before, floor, steadiness or Steadiness())
    work.place()  # moves may have made room for what found none
    plan = work.plan.astype(np.int32)
    return PoolPlan(
        plan=plan,
        before=before.astype(np.int32),
        wanted=wanted,
        unplaced=wanted - work.plan.sum(axis=1),
        evicted=evicted,
        improved=improved,
        room_left=work.room,
        room_price=work.price,
        pools=pools,
        limits=work.limits,
        preference=preference,
    )


@dataclass(slots=True)
class _Work:
    """A plan in the making: what stands so far, and the room that is left."""

    pools: PoolDemand
    limits: Limits
    value: FloatArray
    asking: FloatArray
    tie: FloatArray
    temperature: FloatArray
    told: FloatArray | None
    wanted: IntArray
    plan: IntArray
    room: IntArray
    price: FloatArray

    @classmethod
    def begin(cls, pools: PoolDemand, clusters: ClusterRoom, preference: Preference, limits: Limits) -> _Work:
        shape = (len(pools), len(clusters))
        tie = ties(pools.seed, clusters.seed)
        value = np.broadcast_to(np.nan_to_num(preference.value, nan=0.0), shape) + TIE * tie
        full = Limits(
            np.broadcast_to(limits.allowed, shape),
            np.broadcast_to(limits.least, shape),
            np.broadcast_to(limits.most, shape),
        )
        heat = np.broadcast_to(np.asarray(preference.temperature, dtype=np.float64), shape[:1])
        told = None if preference.shares is None else np.broadcast_to(preference.shares, shape)
        zero = np.zeros(shape, dtype=np.int64)
        room, price = clusters.room.astype(np.int64).copy(), np.zeros(len(clusters))
        return cls(pools, full, value, value.copy(), tie, heat, told, pools.wanted, zero, room, price)

    def insist(self) -> IntArray:
        """Put what people insist on where they want it, as far as there is room."""
        asked = np.where(self.limits.allowed, np.minimum(self.limits.least, self.limits.most), 0)
        rows, columns = np.nonzero(asked)
        self._take(rows, columns, asked[rows, columns])
        return self.plan.copy()

    def keep(self, before: IntArray, floor: IntArray) -> None:
        """Keep what was there, less what shrinks and what there is no room for."""
        held = np.where(self.limits.allowed, np.minimum(before, self.limits.most), 0)
        held = np.maximum(held, floor)
        memory = self.pools.size @ held
        overfull = memory > self.room + self.pools.size @ floor
        excess = held.sum(axis=1) - self.wanted
        rows = np.flatnonzero(excess > 0)
        if len(rows):
            held[rows] -= self._let_go(rows, excess[rows], held, floor, overfull)
        asked = held - floor
        rows, columns = np.nonzero(asked)
        self._take(rows, columns, asked[rows, columns], elsewhere=held.sum(axis=1))

    def place(self) -> None:
        """Place what is missing, the highest priority first."""
        need = self.wanted - self.plan.sum(axis=1)
        if self.pools.priority is None:
            self._fill(np.flatnonzero(need > 0))
            return
        for level in np.unique(self.pools.priority[need > 0])[::-1]:
            self._fill(np.flatnonzero((need > 0) & (self.pools.priority == level)))

    def settle(self, before: IntArray, floor: IntArray) -> None:
        """Where prices turned more away than need be, what was just placed takes the room that is left after all."""
        for _ in range(_SETTLING if self.price.any() else 0):
            fresh = np.maximum(self.plan - np.maximum(before, floor), 0)
            worst = np.where(fresh > 0, self.value, np.inf).min(axis=1)
            open_to = (self.room[None, :] >= self.pools.size[:, None]) & self.limits.allowed
            rows = np.flatnonzero(np.where(open_to, self.value, -np.inf).max(axis=1) > worst + _GAIN)
            if not len(rows) or not self._better(rows, fresh[rows], stay=0.0, most=_UNLIMITED).any():
                return

    def improve(self, before: IntArray, floor: IntArray, steadiness: Steadiness) -> IntArray:
        """Move the instances that gain most, up to the number allowed; how many of each pool did, (n,).

        Those that are away from home come first: there, not moving is worth nothing, and returning is.
        """
        moved = np.zeros(len(self.pools), dtype=np.int64)
        held = np.clip(self.plan - floor, 0, before)
        rows = np.flatnonzero(held.any(axis=1))
        if steadiness.moves == 0 or not len(rows):
            return moved
        if steadiness.anchor is not None:
            moved[rows] = self._return(rows, held[rows], steadiness.anchor[rows], steadiness)
        left = steadiness.moves - int(moved.sum())
        held = np.clip(self.plan - floor, 0, before)
        moved[rows] += self._better(rows, held[rows], stay=steadiness.stay, most=left)
        return moved

    def _return(self, rows: IntArray, held: IntArray, home: IntArray, steadiness: Steadiness) -> IntArray:
        plan, value = self.plan[rows], self.value[rows]
        lacking = np.clip(home - plan, 0, self.limits.most[rows] - plan)
        surplus = np.clip(plan - home, 0, held)
        return self._move(rows, (lacking, value + steadiness.stay), (surplus, value), steadiness.moves)

    def _better(self, rows: IntArray, movable: IntArray, *, stay: float, most: int) -> IntArray:
        """Towards the targets, where that gains more than `stay` an instance."""
        plan, value = self.plan[rows], self.value[rows]
        goal = self._targets(rows, self.wanted[rows], self._usable(rows) | (plan > 0), value)
        lacking = np.clip(goal - plan, 0, self.limits.most[rows] - plan)
        surplus = np.clip(plan - goal, 0, movable)
        told = self._told(rows)[:, None]
        there, here = np.where(told, 1.0, value), np.where(told, 0.0, value + stay)
        return self._move(rows, (lacking, there), (surplus, here), most)

    def _move(
        self, rows: IntArray, there: tuple[IntArray, FloatArray], here: tuple[IntArray, FloatArray], most: int
    ) -> IntArray:
        """Move up to `most` instances; there: places to take and how they are liked, here: those to give up, (m, c).

        The new place is taken before the old one is given up, so nobody loses an instance to another's move. Returns
        how many of each pool moved, (m,).
        """
        plan, usable = self.plan[rows], self._usable(rows)
        lacking, surplus = np.where(usable, there[0], 0), here[0]
        best = np.where(lacking > 0, there[1], -np.inf).max(axis=1)
        surplus = np.where(here[1] + _GAIN < best[:, None], surplus, 0)
        worst = np.where(surplus > 0, here[1], np.inf).min(axis=1)
        lacking, gain = np.where(there[1] > worst[:, None] + _GAIN, lacking, 0), best - worst
        order = np.lexsort((self.pools.seed[rows], -gain))
        count = np.minimum(surplus.sum(axis=1), lacking.sum(axis=1))
        count[order] = np.clip(most - (np.cumsum(count[order]) - count[order]), 0, count[order])
        asked = in_order(count, lacking, there[1])
        row, column = np.nonzero(asked)
        self._take(rows[row], column, asked[row, column])
        moved: IntArray = self.plan[rows].sum(axis=1) - plan.sum(axis=1)
        gone = in_order(moved, surplus, -here[1])
        self.plan[rows] -= gone
        self.room += self.pools.size[rows] @ gone
        return moved

    def weigh_scarcity(self) -> None:
        """Ask by value less the price of room where too much is asked of the best clusters."""
        need = self.wanted - self.plan.sum(axis=1)
        rows = np.flatnonzero(need > 0)
        usable = self._usable(rows)
        rows, usable = rows[usable.any(axis=1)], usable[usable.any(axis=1)]
        if len(rows) and usable.shape[1] > 1:
            size = self.pools.size[rows]
            liked = np.where(usable, self.value[rows], -np.inf)
            self.price = room_prices(liked, need[rows] * size, size, room=self.room, seed=self.pools.seed[rows])
            if self.price.any():
                self.asking[rows] -= size[:, None] * self.price

    def _let_go(
        self, rows: IntArray, excess: IntArray, held: IntArray, floor: IntArray, overfull: BoolArray
    ) -> IntArray:
        goal = self._targets(rows, self.wanted[rows], self.limits.allowed[rows], self.value[rows])
        spare = held[rows] - floor[rows]
        above = np.where(overfull[None, :], spare, np.clip(held[rows] - goal, 0, spare))
        worst = -self.value[rows] + np.where(overfull, np.ptp(self.value) + 1.0, 0.0)[None, :]
        gone = in_order(excess, above, worst)
        left = excess - gone.sum(axis=1)
        return gone + in_order(left, spare - gone, worst) if left.any() else gone

    def _fill(self, rows: IntArray) -> None:
        while len(rows):
            need = self.wanted[rows] - self.plan[rows].sum(axis=1)
            usable = self._usable(rows)
            asks = (need > 0) & usable.any(axis=1)
            rows, need, usable = rows[asks], need[asks], usable[asks]
            if not len(rows):
                return
            who, where, count = self._asked(rows, need, usable)
            self._take(who, where, count)

    def _usable(self, rows: IntArray) -> BoolArray:
        """Which clusters may take one more instance of each of these pools, (m, c)."""
        open_to = self.limits.allowed[rows] & (self.plan[rows] < self.limits.most[rows])
        usable: BoolArray = open_to & (self.room[None, :] >= self.pools.size[rows][:, None])
        return usable

    def _asked(self, rows: IntArray, need: IntArray, usable: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
        """What each pool asks of which cluster in this round, as three columns."""
        single = (self.temperature[rows] == 0) & ~self._told(rows)
        ones = self._asked_of_best(rows[single], need[single], usable[single])
        if single.all():
            return ones
        many = self._asked_by_share(rows[~single], need[~single], usable[~single])
        return tuple(np.concatenate(columns) for columns in zip(ones, many, strict=True))  # type: ignore[return-value]

    def _asked_of_best(self, rows: IntArray, need: IntArray, usable: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
        best = np.where(usable, self.asking[rows], -np.inf).argmax(axis=1)
        return rows, best, np.minimum(need, self.limits.most[rows, best] - self.plan[rows, best])

    def _asked_by_share(self, rows: IntArray, need: IntArray, usable: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
        plan = self.plan[rows]
        rest = self.wanted[rows] - np.where(usable, 0, plan).sum(axis=1)
        goal = self._targets(rows, rest, usable, self.asking[rows])
        below = np.where(usable, np.clip(goal - plan, 0, self.limits.most[rows] - plan), 0)
        over = below.sum(axis=1) > need
        below[over] = in_order(need[over], below[over], self.asking[rows[over]])
        row, column = np.nonzero(below)
        return rows[row], column, below[row, column]

    def _told(self, rows: IntArray) -> BoolArray:
        """Which pools have shares that are wanted as they are, (m,)."""
        if self.told is None:
            return np.zeros(len(rows), dtype=np.bool_)
        told: BoolArray = self.told[rows].max(axis=1, initial=0.0) > 0
        return told

    def _targets(self, rows: IntArray, total: IntArray, usable: BoolArray, value: FloatArray) -> IntArray:
        part = shares(value, usable, self.temperature[rows])
        if self.told is not None:
            told = np.where(usable, self.told[rows], 0.0)
            whole = told.sum(axis=1, keepdims=True)
            part = np.where(whole > 0, told / np.where(whole > 0, whole, 1.0), part)
        return round_exactly(total, part, self.tie[rows])

    def _take(self, rows: IntArray, columns: IntArray, count: IntArray, elsewhere: IntArray | None = None) -> None:
        """Give each (pool, cluster) what it asks for, or its fair part where a cluster has too little."""
        got = count.copy()
        memory = np.bincount(
            columns, weights=(count * self.pools.size[rows]).astype(np.float64), minlength=len(self.room)
        )
        has = self.plan.sum(axis=1) if elsewhere is None else elsewhere
        for column in np.flatnonzero(memory > self.room):
            mine = np.flatnonzero(columns == column)
            who = rows[mine]
            others = has[who] if elsewhere is None else has[who] - count[mine]
            got[mine] = fair_part(
                count[mine],
                self.pools.size[who],
                has=others,
                wants=self.wanted[who],
                tie=self.tie[who, column],
                room=max(int(self.room[column]), 0),
            )
        self.plan[rows, columns] += got
        self.room -= self._memory(rows, columns, got)

    def _memory(self, rows: IntArray, columns: IntArray, count: IntArray) -> IntArray:
        """Memory of `count` instances of each pool, summed by cluster, (c,); whole numbers below 2^53 are exact."""
        memory = (count * self.pools.size[rows]).astype(np.float64)
        return np.bincount(columns, weights=memory, minlength=len(self.room)).astype(np.int64)
