"""When a place deserves a pool of its own.

One shared pool has fewer cold starts and less waste; pools near the callers have less delay. A pool is opened in a
cluster where w x the delay that its callers save in one step exceeds theta x what pooling had saved: the expected cost
of the two parts, each sized for itself, less that of the whole. It must also be worth one instance, since an empty pool
serves nobody. Pools are opened one by one, the most profitable first; one that was open stays while it saves `stay` of
what opening would ask, so that noise does not open and close it.

All functions at once; the cost of a part is read from a table over nine shares, by straight lines between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation.pools.split import least_cost, rows_of, thinned
from prewarm.domain import BoolArray, FloatArray, IntArray
from prewarm.policy.pool import Levels

GRID = np.linspace(0.0, 1.0, 9)


@dataclass(frozen=True, slots=True)
class Demand:
    """What is expected of one step, a row a function: chances of needing instances, prices, and calls by region.

    cold, idle, limit: (n,) as in `prewarm.policy`. calls: (n, R) calls in the step from each region. delay_s: (R, c).
    """

    levels: Levels
    cold: FloatArray
    idle: FloatArray
    limit: FloatArray
    calls: FloatArray
    delay_s: FloatArray


@dataclass(frozen=True, slots=True)
class OpeningRule:
    """w: price of a second of delay of one call. theta: how many times its cost a pool must save. stay: see module."""

    delay_price_per_s: float = 3.0
    theta: float = 1.0
    stay: float = 0.7


@dataclass(frozen=True, slots=True)
class OpenPools:
    """Which clusters hold a pool of each function, (n, c), and the part of its calls that each serves, (n, c).

    saved, cost: (n, c) what each further pool saves in delay and costs in pooling, in the unit of `cold`, else 0.
    """

    open: BoolArray
    shares: FloatArray
    saved: FloatArray
    cost: FloatArray

    @property
    def split(self) -> BoolArray:
        """Functions with more than one pool, (n,)."""
        several: BoolArray = self.open.sum(axis=1) > 1
        return several


def open_regions(
    demand: Demand, home: IntArray, *, usable: BoolArray, rule: OpeningRule, before: BoolArray | None = None
) -> OpenPools:
    """The pools of every function; `home` (n,) is its shared one, `usable` (n, c) says where one may be."""
    n, c = usable.shape
    if c == 0:
        return OpenPools(usable, np.zeros((n, 0)), np.zeros((n, 0)), np.zeros((n, 0)))
    opened = np.zeros((n, c), dtype=np.bool_)
    opened[np.arange(n), home] = True
    saved, cost = np.zeros((n, c)), np.zeros((n, c))
    was = np.zeros((n, c), dtype=np.bool_) if before is None else before
    first = np.zeros(n)
    one = np.asarray(demand.levels.level) == 1
    first[np.asarray(demand.levels.row)[one]] = np.asarray(demand.levels.p)[one]
    rows = np.flatnonzero((demand.calls.sum(axis=1) > 0) & (first > demand.limit))
    table = _Table.of(demand, rows)
    while len(rows):
        gain, part = _gains(demand, rows, opened[rows])
        price, worth = table.look_up(rows, part)
        asked = price * rule.theta * np.where(was[rows], rule.stay, 1.0)
        profit = rule.delay_price_per_s * gain - asked
        profit = np.where(usable[rows] & ~opened[rows] & worth, profit, -np.inf)
        best = profit.argmax(axis=1)
        chosen = np.flatnonzero(profit[np.arange(len(rows)), best] > 0)
        rows, best = rows[chosen], best[chosen]
        opened[rows, best] = True
        saved[rows, best] = rule.delay_price_per_s * gain[chosen, best]
        cost[rows, best] = price[chosen, best]
    return OpenPools(opened, _served(demand, opened), saved, cost)


def _gains(demand: Demand, rows: IntArray, opened: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Seconds of delay that a pool in each cluster would save, and the part of the calls it would serve, (m, c)."""
    now = np.where(opened[:, None, :], demand.delay_s[None], np.inf).min(axis=2)
    less = np.maximum(now[:, :, None] - demand.delay_s[None], 0.0)
    calls = demand.calls[rows]
    gain = np.einsum("mr,mrc->mc", calls, less)
    part = np.einsum("mr,mrc->mc", calls, less > 0) / calls.sum(axis=1)[:, None]
    return gain, part


def _served(demand: Demand, opened: BoolArray) -> FloatArray:
    """Part of each function's calls that its pools serve, each call by the nearest, (n, c)."""
    n, c = opened.shape
    regions = demand.delay_s.shape[0]
    nearest = np.where(opened[:, None, :], demand.delay_s[None], np.inf).argmin(axis=2) if regions else np.zeros((n, 0))
    at = (np.arange(n)[:, None] * c + nearest).astype(np.int64)
    served = np.bincount(at.ravel(), weights=demand.calls.ravel(), minlength=n * c).reshape(n, c)
    total = served.sum(axis=1, keepdims=True)
    return np.where(total > 0, served / np.where(total > 0, total, 1.0), opened / opened.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class _Table:
    """Cost of a part of a function, and whether it is worth an instance, over `GRID`; (n, 9) each."""

    cost: FloatArray
    worth: FloatArray

    @classmethod
    def of(cls, demand: Demand, rows: IntArray) -> _Table:
        n = len(demand.limit)
        cost, worth = np.zeros((n, len(GRID))), np.zeros((n, len(GRID)))
        levels = rows_of(demand.levels, rows, n)
        for at, share in enumerate(GRID[1:], start=1):
            part = thinned(levels, float(share)) if share < 1 else levels
            cost[:, at] = least_cost(part, demand.cold, demand.idle)
            one = part.level == 1
            worth[part.row[one], at] = part.p[one] > demand.limit[part.row[one]]
        return cls(cost, worth)

    def look_up(self, rows: IntArray, part: FloatArray) -> tuple[FloatArray, BoolArray]:
        """What splitting off `part` (m, c) of each function costs, and whether that part is worth an instance."""
        cost = self.cost[rows]
        price = _between(cost, part) + _between(cost, 1.0 - part) - cost[:, -1:]
        return np.maximum(price, 0.0), _between(self.worth[rows], part) >= 1.0


def _between(table: FloatArray, share: FloatArray) -> FloatArray:
    """Values of `table` (m, 9) at `share` (m, c), on straight lines between the grid's."""
    place = np.clip(share, 0.0, 1.0) * (len(GRID) - 1)
    low = np.minimum(place.astype(np.int64), len(GRID) - 2)
    left, right = np.take_along_axis(table, low, axis=1), np.take_along_axis(table, low + 1, axis=1)
    return left + (place - low) * (right - left)
