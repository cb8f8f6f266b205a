"""Kernels that look for timers: hits at fixed lags, at multiples of a step, at the best of all periods, and chains.

Lags are counted from the target minute, so with `ahead` > 0 the minutes not yet known are left out. Shares carry one
or two pseudo-trials at the row's own rate, since a period seen twice proves little. Imports numba.
"""

from __future__ import annotations

import math

import numpy as np

from prewarm.forecast.levels.feature_gaps import Array, compiled
from prewarm.forecast.levels.feature_table import LAGS, LONGEST_PERIOD, STEPS, WINDOW

_LOG = np.log(np.maximum(np.arange(WINDOW + 2), 1e-9))
_LONGEST_CHAIN = 8


@compiled  # type: ignore[untyped-decorator]
def lags(x: Array, facts: Array, out: Array) -> None:
    """Hit or not at fixed lags before the target; NaN where unknown."""
    for i in range(LAGS.size):
        lag = LAGS[i] - facts[4]
        if 1 <= lag <= facts[0]:
            out[i] = x[lag]


@compiled  # type: ignore[untyped-decorator]
def _first_lag(period: int, shift: int) -> int:
    lag = period + shift
    while lag < 1:
        lag += period
    return lag


@compiled  # type: ignore[untyped-decorator]
def steps(x: Array, facts: Array, out: Array) -> None:
    """Share of the last hits at multiples of fixed steps, exact and within a minute."""
    known = facts[0]
    for i in range(STEPS.size):
        lag = _first_lag(STEPS[i], -facts[4])
        weight, total, hits, near = 1.0, 0.0, 0.0, 0.0
        taken = 0
        while lag + 1 <= known and taken < 16:
            total += weight
            hits += weight * x[lag]
            near += weight if x[lag] or x[lag + 1] or (lag > 1 and x[lag - 1]) else 0.0
            weight *= 0.85
            lag += STEPS[i]
            taken += 1
        if total > 0:
            out[i] = hits / total
            out[STEPS.size + i] = near / total


@compiled  # type: ignore[untyped-decorator]
def _count_aligned(x: Array, facts: Array, period: int, tally: Array) -> None:
    """tally (int64): trials, hits, hits within a minute, unbroken hits from the latest on; at most 24 trials."""
    tally[:] = 0
    lag = _first_lag(period, -facts[4])
    unbroken = True
    while lag < facts[0] and tally[0] < 24:
        hit = x[lag]
        tally[0] += 1
        tally[1] += hit
        tally[2] += 1 if hit or x[lag + 1] or x[lag - 1] else 0
        unbroken = unbroken and hit == 1
        tally[3] += 1 if unbroken else 0
        lag += period


@compiled  # type: ignore[untyped-decorator]
def _evidence(hits: int, trials: int, log_rate: float, log_rest: float) -> float:
    """Log-likelihood ratio of the aligned share against the row's rate (G statistic / 2)."""
    value = float(hits) * (_LOG[hits] - _LOG[trials] - log_rate)
    if hits < trials:
        value += (trials - hits) * (_LOG[trials - hits] - _LOG[trials] - log_rest)
    return float(value)


@compiled  # type: ignore[untyped-decorator]
def _note_share(tally: Array, rate: float, period: int, out: Array) -> None:
    """Best and second best share with two pseudo-trials: out is share, period, trials, second."""
    share = (tally[1] + 2 * rate) / (tally[0] + 2.0)
    if share > out[0]:
        out[3] = out[0]
        out[0] = share
        out[1] = period
        out[2] = tally[0]
    elif share > out[3]:
        out[3] = share


@compiled  # type: ignore[untyped-decorator]
def scan(x: Array, facts: Array, out: Array) -> None:
    """The best of all periods from 2 minutes to half the known time, by four measures; needs three hits."""
    known, n = facts[0], facts[1]
    if n < 3 or known < 5:
        return
    rate = (n + 0.5) / (known + 1.0)
    near_rate = 1 - (1 - rate) ** 3
    log_rate, log_rest = math.log(rate), math.log(1 - rate)
    tally = np.zeros(4, np.int64)
    out[0:14] = 0.0
    out[4], out[7], out[8] = -1.0, -1.0, -1.0
    for period in range(2, min(known // 2, LONGEST_PERIOD) + 1):
        _count_aligned(x, facts, period, tally)
        if tally[0] < 2:
            continue
        _note_share(tally, rate, period, out[4:8])
        near = (tally[2] + 2 * near_rate) / (tally[0] + 2.0) - near_rate
        if near > out[8]:
            out[8:11] = (near, float(period), float(tally[0]))
        if tally[1] > tally[0] * rate:
            evidence = _evidence(tally[1], tally[0], log_rate, log_rest)
            if evidence > out[0]:
                out[0:4] = (evidence, float(period), float(tally[0]), tally[1] / tally[0])
        if -tally[3] * log_rate > out[11]:
            out[11:14] = (-tally[3] * log_rate, float(tally[3]), float(period))


@compiled  # type: ignore[untyped-decorator]
def _chain_length(x: Array, known: int, lag: int, step: int) -> int:
    """How many hits follow back from `lag` at the step, each within a minute of it."""
    length = 0
    while length < _LONGEST_CHAIN:
        target = lag + step
        if target + 1 > known:
            break
        if x[target]:
            lag = target
        elif x[target + 1]:
            lag = target + 1
        elif target - 1 > lag and x[target - 1]:
            lag = target - 1
        else:
            break
        length += 1
    return length


@compiled  # type: ignore[untyped-decorator]
def chains(x: Array, gaps: Array, facts: Array, out: Array) -> None:
    """The strongest drifting timer that would fire at the target: evidence, hits, period."""
    known, n = facts[0], facts[1]
    if n < 3:
        return
    near_rate = 1 - (1 - (n + 0.5) / (known + 1.0)) ** 3
    surprise = -math.log(near_rate)
    out[:3] = 0.0
    lag = facts[3]
    for i in range(min(n, 32)):
        period = lag + facts[4]
        if 2 * period > known:
            break
        if period >= 2:
            length = _chain_length(x, known, lag, period)
            if length * surprise > out[0]:
                out[0:3] = (length * surprise, float(length), float(period))
        if i < facts[2]:
            lag += gaps[i]
