"""How many instances are worth keeping warm, given the distribution of how many will be needed.

For one step and one function with need N, keeping n warm costs `cold * E[(N - n)+] + idle * E[(n - N)+]`. The best n is
the newsvendor quantile: the smallest n with P(N <= n) >= cold / (cold + idle), that is, the number of levels k with
P(N >= k) > idle / (cold + idle) (Arrow, Harris and Marschak, 1951). Each level is a decision of its own, so the work is
one comparison for each (function, level) pair that has any chance, whatever the number of functions.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from prewarm.domain import BoolArray, Float32Array, FloatArray, Int32Array, IntArray


class Levels(Protocol):
    """P(N >= level) for (function, level) pairs, sorted by function, then level; absent pairs are as good as zero."""

    @property
    def row(self) -> Int32Array:
        """Index of the function, (m,)."""
        ...

    @property
    def level(self) -> Int32Array:
        """k of P(N >= k), from 1 on without gaps inside a function, (m,)."""
        ...

    @property
    def p(self) -> Float32Array:
        """The probability, (m,)."""
        ...


def span_of(rows: Int32Array, row: int) -> tuple[int, int]:
    """Where the pairs of one function lie in a sorted column of rows: [first, last).

    The bounds take the column's own type: numpy would otherwise copy the whole column into a wider one, for each ask.
    """
    first, last = np.searchsorted(rows, np.array((row, row + 1), dtype=rows.dtype))
    return int(first), int(last)


def threshold(cold_cost: FloatArray, idle_cost: FloatArray) -> FloatArray:
    """Probability above which an instance pays, (n,): idle / (idle + cold), both for one step; 1 where both are 0."""
    total = cold_cost + idle_cost
    return np.divide(idle_cost, total, out=np.ones_like(total), where=total > 0)


def threshold_for_latency(goal_ms: FloatArray, start_s: FloatArray, plain: FloatArray) -> FloatArray:
    """The lower of `plain` and what a P99 wait of `goal_ms` asks for, (n,).

    Where a start takes longer than the goal, at most one call in a hundred may meet one: an instance is kept while the
    chance of its being needed exceeds 1 %. NaN goals and goals that every start meets change nothing.
    """
    bound = np.where(np.isfinite(goal_ms) & (start_s * 1000 > goal_ms), 0.01, 1.0)
    return np.minimum(plain, bound)


def pool_target(levels: Levels, limit: FloatArray) -> tuple[Int32Array, BoolArray]:
    """Instances worth keeping for each function and where that cannot be said: ((n,), (n,)).

    A function with a probability that is not a number in 0..1 is invalid (True in the second array), its target 0;
    the caller holds what it has. Levels count from 1 up and stop at the first that does not pay.
    """
    size = len(limit)
    target = np.zeros(size, dtype=np.int32)
    invalid = np.zeros(size, dtype=np.bool_)
    row, p = np.asarray(levels.row), np.asarray(levels.p, dtype=np.float64)
    bad = ~((p >= 0) & (p <= 1))
    invalid[row[bad]] = True
    pays = ~bad & (p > limit[row])
    # The first level that does not pay ends the function's run: count rows before it.
    starts = np.flatnonzero(np.r_[True, row[1:] != row[:-1]]) if len(row) else np.zeros(0, dtype=np.int64)
    fails: IntArray = (~pays).astype(np.int64)
    failed: IntArray = np.cumsum(fails)
    before: IntArray = (failed - fails)[starts]
    run = pays & (failed == np.repeat(before, np.diff(np.r_[starts, len(row)])))
    np.add.at(target, row[run], 1)
    target[invalid] = 0
    return target, invalid
