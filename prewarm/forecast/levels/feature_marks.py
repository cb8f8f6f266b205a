"""Kernels over the marks: how much was asked of the function in each minute with a hit, relative to its own habits.

A mark is a mean concurrency or a count, so only ratios to the function's own low, median and last marks are used. One
timer of an app has its own mark, so marks tell apart what gaps alone cannot. Imports numba.

`base` (float64) holds the mark by lag, 0 where nothing was asked; `low`, `median`, `high` are the 10th, 50th and 90th
percentile of the last 240 marks.
"""

from __future__ import annotations

import math

import numpy as np

from prewarm.forecast.levels.feature_gaps import Array, compiled

MARKS_SORTED = 240
_FORGET = np.exp(-1.0 / np.array([5.0, 20.0, 60.0]))
_SAME, _LIKE = 0.03, 0.3
_LONGEST_CHAIN = 8


@compiled  # type: ignore[untyped-decorator]
def smoothed(base: Array, known: int, out: Array) -> None:
    """Exponentially forgetting means of the mark over all minutes, three speeds."""
    total = np.zeros(3)
    weight = np.zeros(3)
    for lag in range(min(known, 300), 0, -1):
        for i in range(3):
            total[i] = total[i] * _FORGET[i] + base[lag]
            weight[i] = weight[i] * _FORGET[i] + 1.0
    out[:3] = total / weight


@compiled  # type: ignore[untyped-decorator]
def mark_levels(base: Array, marks: Array, ordered: Array, known: int, out: Array) -> None:
    """The last marks and their means beside the row's low, median and high mark; spread, rank, sums."""
    n = ordered.size
    low, median, high = ordered[n // 10], ordered[n // 2], ordered[(n * 9) // 10]
    last = marks[-1]
    out[0] = last / median
    out[1] = last / low
    if marks.size > 1:
        out[2] = marks[-2] / median
    means = np.zeros(3)
    smoothed(base, known, means)
    out[3:6] = means / low
    out[6:8] = means[:2] / median
    out[8] = ordered.std() / ordered.mean()
    out[9] = (ordered <= 1.15 * low).mean()
    out[10] = high / low
    out[11] = median / low
    out[12] = (ordered < (1 - _SAME) * last).mean()
    out[13] = (ordered <= (1 + _SAME) * last).mean() - out[12]
    out[28] = base[1 : min(known, 5) + 1].sum() / low
    out[29] = base[1 : min(known, 15) + 1].sum() / low


@compiled  # type: ignore[untyped-decorator]
def mark_hazards(minutes: Array, marks: Array, facts: Array, out: Array) -> None:
    """Hazard at this age after hits with the same mark, a similar one, and the same mark after the same gap."""
    last = minutes.size - 1
    age, due = facts[3], facts[5]
    gap_before = minutes[last] - minutes[last - 1] if last > 0 else -1
    tally = np.zeros((3, 2))
    for i in range(last - 1, -1, -1):
        gap = minutes[i + 1] - minutes[i]
        ratio = marks[i] / marks[last]
        if gap < age or ratio < 1 / (1 + _LIKE) or ratio > 1 + _LIKE:
            continue
        hit = 1.0 if gap == due else 0.0
        tally[1, 0] += hit
        tally[1, 1] += 1
        if abs(ratio - 1) >= _SAME:
            continue
        tally[0, 0] += hit
        tally[0, 1] += 1
        if i > 0 and abs(minutes[i] - minutes[i - 1] - gap_before) <= (1 if gap_before > 1 else 0):
            tally[2, 0] += hit
            tally[2, 1] += 1
    prior = 1.0 / (due + 1.0)
    out[0] = tally[0, 0]
    for i in range(3):
        out[1 + 2 * i] = tally[i, 1]
        out[2 + 2 * i] = (tally[i, 0] + prior) / (tally[i, 1] + 1.0)


@compiled  # type: ignore[untyped-decorator]
def _chain_length(base: Array, known: int, start: int, step: int) -> int:
    """Hits of about the same mark that follow back from `start` at the step, each within a minute of it."""
    low, high = 0.95 * base[start], 1.05 * base[start]
    lag = start
    length = 0
    while length < _LONGEST_CHAIN:
        target = lag + step
        if target + 1 > known:
            break
        if low < base[target] < high:
            lag = target
        elif low < base[target + 1] < high:
            lag = target + 1
        elif target - 1 > lag and low < base[target - 1] < high:
            lag = target - 1
        else:
            break
        length += 1
    return length


@compiled  # type: ignore[untyped-decorator]
def mark_chains(base: Array, minutes: Array, ordered: Array, facts: Array, out: Array) -> None:
    """The strongest drifting timer of one mark that would fire at the target: evidence, hits, period, its mark.

    Between period and mark stands the mark an hour before the target.
    """
    known, n = facts[0], minutes.size
    out[:3] = 0.0
    hour_ago = 60 - facts[4]
    if hour_ago <= known:
        out[3] = base[hour_ago] / ordered[ordered.size // 2]
    share = n / (known + 1.0) / (ordered.size + 1.0)
    best_mark = 0.0
    latest = facts[7]
    for i in range(min(n, 40)):
        lag = latest + minutes[n - 1] - minutes[n - 1 - i]
        period = lag + facts[4]
        if 2 * period > known:
            break
        if period < 2:
            continue
        mark = base[lag]
        alike = np.searchsorted(ordered, 1.05 * mark) - np.searchsorted(ordered, 0.95 * mark)
        chance = 1 - (1 - min((alike + 0.5) * share, 0.99)) ** 3
        length = _chain_length(base, known, lag, period)
        evidence = -length * math.log(chance)
        if evidence > out[0]:
            out[0:3] = (evidence, float(length), float(period))
            best_mark = mark
    out[4] = best_mark / ordered[ordered.size // 2]


@compiled  # type: ignore[untyped-decorator]
def level_regression(base: Array, x: Array, facts: Array, out: Array) -> None:
    """Share of hits after moments whose smoothed mark was within a quarter of the present one."""
    known, ahead = facts[0], facts[4]
    forget = math.exp(-0.25)
    present = 0.0
    for lag in range(min(known, 40), 0, -1):
        present = present * forget + base[lag]
    low, high = present * 0.8, present * 1.25 + 1e-12
    level, trials, hits = 0.0, 0.0, 0.0
    for lag in range(known, ahead + 1, -1):
        level = level * forget + base[lag]
        if low <= level <= high:
            trials += 1
            hits += x[lag - 1 - ahead]
    out[0] = trials
    out[1] = (hits + facts[1] / (known + 1.0)) / (trials + 1.0)
