"""Kernels that ask what happened after the same past: hazards given the last gaps, or the last run.

A gap's context is the one, two or three gaps before it. Short contexts are seen often, long ones say more; each hazard
carries one pseudo-trial, and its number of trials stands beside it. Imports numba.
"""

from __future__ import annotations

import numpy as np

from prewarm.forecast.levels.feature_gaps import Array, compiled


@compiled  # type: ignore[untyped-decorator]
def _slack(gap: int) -> float:
    return 1.0 + 0.1 * gap if gap > 1 else 0.0


@compiled  # type: ignore[untyped-decorator]
def _tally(gaps: Array, count: int, age: int, due: int) -> Array:
    """Hits and trials in contexts of 1, 2 and 3 gaps, and of exactly the same gap; four rows of two."""
    tally = np.zeros((4, 2))
    last = gaps[0]
    before = gaps[1] if count > 1 else 0
    third = gaps[2] if count > 2 else 0
    for i in range(count - 1):
        if gaps[i] < age:
            continue
        hit = 1.0 if gaps[i] == due else 0.0
        if gaps[i + 1] == last:
            tally[3, 0] += hit
            tally[3, 1] += 1
        if abs(gaps[i + 1] - last) > _slack(last):
            continue
        tally[0, 0] += hit
        tally[0, 1] += 1
        if i + 2 >= count or abs(gaps[i + 2] - before) > _slack(before):
            continue
        tally[1, 0] += hit
        tally[1, 1] += 1
        if i + 3 < count and abs(gaps[i + 3] - third) <= _slack(third):
            tally[2, 0] += hit
            tally[2, 1] += 1
    return tally


@compiled  # type: ignore[untyped-decorator]
def _after_run(gaps: Array, count: int, age: int, due: int) -> tuple[int, int]:
    """Hits and trials after runs of the same length: did the run go on (age 1), or did the pause end at `due`."""
    length = 1
    while length <= count and gaps[length - 1] == 1:
        length += 1
    hits, trials = 0, 0
    i = length - 1
    while i < count:
        pause = gaps[i]
        run = 1
        j = i + 1
        while j < count and gaps[j] == 1:
            run += 1
            j += 1
        if age == 1 and run >= length:
            trials += 1
            hits += 1 if run > length else 0
        elif age > 1 and abs(run - length) <= 1 + 0.1 * length and pause >= age:
            trials += 1
            hits += 1 if pause == due else 0
        i = j
    return hits, trials


@compiled  # type: ignore[untyped-decorator]
def orders(gaps: Array, facts: Array, out: Array) -> None:
    """Hazards in contexts of growing length, and after runs of the same length."""
    count, age, due = facts[2], facts[3], facts[5]
    if count == 0:
        return
    prior = 1.0 / (due + 1.0)
    tally = _tally(gaps, count, age, due)
    out[0] = tally[0, 0]
    at = 1
    for row in (0, 3, 1, 2):
        out[at] = tally[row, 1]
        out[at + 1] = (tally[row, 0] + prior) / (tally[row, 1] + 1.0)
        at += 2
    hits, trials = _after_run(gaps, count, age, due)
    out[9] = trials
    out[10] = (hits + prior) / (trials + 1.0)
