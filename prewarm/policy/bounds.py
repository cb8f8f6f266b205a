"""Rules between what would be best and what is done: bounds, steps, delay, budget. Each is one small function.

They are applied in the order of this file, and each takes and returns columns, so the difference between what went in
and what came out is the reason that the decision shows.
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import FloatArray, Int32Array, IntArray
from prewarm.policy.pool import Levels


def clamp(target: Int32Array, minimum: Int32Array, maximum: Int32Array) -> Int32Array:
    """`target` between its bounds; where they contradict each other the floor wins, since it protects users."""
    below = np.where(target > maximum, maximum, target)
    bounded: Int32Array = np.where(below < minimum, minimum, below)
    return bounded


def limit_step(target: Int32Array, current: Int32Array, up: Int32Array, down: Int32Array) -> Int32Array:
    """At most `up` more and `down` fewer than `current`."""
    change: IntArray = np.clip(target.astype(np.int64) - current, -down.astype(np.int64), up.astype(np.int64))
    return (current + change).astype(np.int32)


def delay_fall(
    target: Int32Array, current: Int32Array, lower_since: FloatArray, *, delay_s: FloatArray, now: float
) -> tuple[Int32Array, FloatArray]:
    """A fall waits until it was wanted without a break for `delay_s`; returns the counts and the new `lower_since`.

    `lower_since` is the time at which a lower number was first wanted, NaN where none is.
    """
    falls = target < current
    since = np.where(falls, np.where(np.isfinite(lower_since), lower_since, now), np.nan)
    waits = falls & (now - since < delay_s)
    return np.where(waits, current, target).astype(np.int32), since


def fit_budget(
    target: Int32Array, floor: Int32Array, levels: Levels, *, value: FloatArray, memory_gb: FloatArray, budget_gb: float
) -> Int32Array:
    """Let go of the least useful instances until the rest fit in `budget_gb`; `floor` is kept whatever it needs.

    Use of an instance is P(needed) x `value` (price of a cold start) for each GB; levels fall in use inside a function,
    so taking them in order of use never keeps a higher one without the lower. Ties go to the function listed first.
    """
    if float(target @ memory_gb) <= budget_gb:
        return target
    kept = np.minimum(target, floor).astype(np.int32)
    row, level = np.asarray(levels.row), np.asarray(levels.level)
    offered = (level > floor[row]) & (level <= target[row])
    row, use = row[offered], np.asarray(levels.p, dtype=np.float64)[offered]
    use = use * value[row] / memory_gb[row]
    order = np.argsort(-use, kind="stable")
    spent = float(kept @ memory_gb) + np.cumsum(memory_gb[row[order]])
    np.add.at(kept, row[order[spent <= budget_gb]], 1)
    return kept
