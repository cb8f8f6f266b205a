"""Kernels over the gaps between hits: recency, counts, gap statistics, hazards by idle age and by what came before.

Every kernel takes `x` (uint8, 1 where the minute that lies `lag` back had a hit), `gaps` (int32, the latest first),
`facts` (see `facts_of`) and fills its slice of a row. What cannot be known stays NaN. Imports numba.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from prewarm.forecast.levels.feature_table import COUNT_WINDOWS, DECAYS, WINDOW

FACTS = 8

_lags = np.arange(WINDOW + 2)
_WEIGHT = np.exp(-_lags[None, :] / DECAYS[:, None]) * (_lags > 0)
_WEIGHT_SUM = np.cumsum(_WEIGHT, axis=1)

Array = NDArray[Any]
compiled = numba.njit(cache=True)


@compiled  # type: ignore[untyped-decorator]
def facts_of(hits: Array, since: int, now: int, ahead: int, facts: Array) -> int:
    """Index of the first hit inside the window; fills `facts`, all int64.

    facts: known minutes, hits and gaps in the window, idle age, minutes ahead (0 = the coming minute), gap that a hit
    at the target would close, lag of the oldest hit, lag of the latest minute with any mark (set by the caller where it
    differs from the idle age). `hits` ascend and all lie before `now`.
    """
    known = min(now - since, WINDOW)
    first = np.searchsorted(hits, now - known)
    n = hits.size - first
    age = now - hits[-1] if n > 0 else known + 1
    facts[0] = known
    facts[1] = n
    facts[2] = max(0, n - 1)
    facts[3] = age
    facts[4] = ahead
    facts[5] = age + ahead
    facts[6] = now - hits[first] if n > 0 else 0
    facts[7] = age
    return int(first)


@compiled  # type: ignore[untyped-decorator]
def fill_gaps(hits: Array, gaps: Array) -> None:
    """Gaps between consecutive hits, the latest first."""
    last = hits.size - 1
    for i in range(last):
        gaps[i] = hits[last - i] - hits[last - i - 1]


@compiled  # type: ignore[untyped-decorator]
def recency(x: Array, gaps: Array, facts: Array, out: Array) -> None:
    """Idle age, the run of minutes just before, the last five gaps."""
    known, n, count, age = facts[0], facts[1], facts[2], facts[3]
    out[0] = known
    out[1] = n
    out[2] = n / known
    out[3] = age
    if n == 0:
        return
    run = 0
    while run < known and x[run + 1]:
        run += 1
    out[4] = run
    last_run = 1
    while last_run <= count and gaps[last_run - 1] == 1:
        last_run += 1
    out[5] = last_run
    if last_run <= count:
        out[6] = gaps[last_run - 1]
    for i in range(min(5, count)):
        out[7 + i] = gaps[i]
    total = 0.0
    runs = 1
    for i in range(count):
        total += gaps[i]
        if gaps[i] > 1:
            runs += 1
    if count > 0:
        out[12] = age / gaps[0]
        out[13] = age * count / total
    out[14] = facts[6]
    out[15] = runs


@compiled  # type: ignore[untyped-decorator]
def windows(gaps: Array, facts: Array, out: Array) -> None:
    """Hits in the last minutes, and hit rates with exponential forgetting."""
    known, n, age = facts[0], facts[1], facts[3]
    if n == 0:
        return
    lag = age
    count = 0
    at = 0
    sums = np.zeros(_WEIGHT.shape[0])
    for i in range(n):
        while at < COUNT_WINDOWS.size and lag > COUNT_WINDOWS[at]:
            out[at] = count
            at += 1
        count += 1
        for j in range(sums.size):
            sums[j] += _WEIGHT[j, lag]
        if i < n - 1:
            lag += gaps[i]
    while at < COUNT_WINDOWS.size:
        out[at] = count
        at += 1
    for j in range(sums.size):
        out[COUNT_WINDOWS.size + j] = sums[j] / _WEIGHT_SUM[j, known]


@compiled  # type: ignore[untyped-decorator]
def gap_statistics(gaps: Array, facts: Array, histogram: Array, out: Array) -> None:
    """Mean, spread, quantiles and mode of the gaps; how far the idle age is from the median."""
    count, age, due = facts[2], facts[3], facts[5]
    if count == 0:
        return
    total = 0.0
    squares = 0.0
    longest = 0
    for i in range(count):
        total += gaps[i]
        squares += float(gaps[i]) ** 2
        longest = max(longest, gaps[i])
    mean = total / count
    spread = math.sqrt(max(0.0, squares / count - mean * mean))
    out[0] = mean
    out[1] = spread
    out[2] = spread / mean
    seen = 0
    mode = 1
    q10, q50, q90 = 0, 0, 0
    for gap in range(1, longest + 1):
        if histogram[gap] == 0:
            continue
        seen += histogram[gap]
        if q10 == 0 and seen >= 0.1 * count:
            q10 = gap
        if q50 == 0 and seen >= 0.5 * count:
            q50 = gap
        if q90 == 0 and seen >= 0.9 * count:
            q90 = gap
        if histogram[gap] > histogram[mode]:
            mode = gap
    out[3:6] = (q10, q50, q90)
    out[6] = mode
    out[7] = histogram[mode] / count
    out[8] = due - q50
    out[9] = age / q50


@compiled  # type: ignore[untyped-decorator]
def _median_of_sums(gaps: Array, terms: int, size: int) -> float:
    sums = np.zeros(size)
    for i in range(size):
        for j in range(terms):
            sums[i] += gaps[i + j]
    return float(np.sort(sums)[size // 2])


@compiled  # type: ignore[untyped-decorator]
def recent_gaps(gaps: Array, facts: Array, out: Array) -> None:
    """Median of the last gaps, of pairs and triples of them, and the phase on the grid they suggest."""
    count, age, due = facts[2], facts[3], facts[5]
    if count == 0:
        return
    size = min(8, count)
    median = _median_of_sums(gaps, 1, size)
    out[0] = median
    out[1] = np.abs(gaps[:size] - median).mean()
    out[2] = due - median
    if count < 4:
        return
    out[3] = due + gaps[0] - _median_of_sums(gaps, 2, min(8, count - 1))
    out[4] = due + gaps[0] + gaps[1] - _median_of_sums(gaps, 3, min(8, count - 2))
    out[5] = gaps[:4].mean()
    total = 0.0
    near = 0
    for i in range(min(24, count)):
        if abs(gaps[i] - median) <= 1 + 0.05 * median:
            total += gaps[i]
            near += 1
    if near < 3:
        return
    period = total / near
    lag = float(age + facts[4])
    base = lag - round(lag / period) * period
    phase = 0.0
    agreeing = 0
    for i in range(min(6, count)):
        offset = lag - round(lag / period) * period
        if abs(offset - base) < period / 2:
            phase += offset
            agreeing += 1
        lag += gaps[i]
    out[6] = phase / agreeing


@compiled  # type: ignore[untyped-decorator]
def hazards(gaps: Array, facts: Array, out: Array) -> None:
    """Share of gaps that ended at this age among those that reached it: exact, near, smooth, and forgetting."""
    count, age, due = facts[2], facts[3], facts[5]
    if count == 0:
        return
    equal, beyond, near, soon, smooth, shorter = 0, 0, 0, 0, 0, 0
    fast, fast_sum, slow, slow_sum = 0.0, 0.0, 0.0, 0.0
    fast_weight, slow_weight = 1.0, 1.0
    upper = due + max(1.0, 0.15 * due)
    for i in range(count):
        gap = gaps[i]
        if gap < age:
            shorter += 1
        else:
            hit = 1 if gap == due else 0
            beyond += 1
            equal += hit
            near += 1 if abs(gap - due) <= 1 else 0
            soon += 1 if gap <= due + 2 else 0
            smooth += 1 if gap < upper else 0
            fast += fast_weight * hit
            fast_sum += fast_weight
            slow += slow_weight * hit
            slow_sum += slow_weight
        fast_weight *= 0.9
        slow_weight *= 0.97
    prior = 1.0 / (due + 1.0)
    out[0] = equal
    out[1] = beyond
    out[2] = (equal + prior) / (beyond + 1.0)
    out[3] = near / (beyond + 1.0)
    out[4] = (soon + prior) / (beyond + 1.0)
    out[5] = (smooth + 0.15) / (beyond + 1.0) / (upper - due)
    out[6] = (fast + prior) / (fast_sum + 1.0)
    out[7] = fast_sum
    out[8] = (slow + prior) / (slow_sum + 1.0)
    out[9] = slow_sum
    out[10] = shorter / count
    out[11] = beyond / count
