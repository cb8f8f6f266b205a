"""Kernels that compare the last 64 minutes with every earlier moment of the window, as bit patterns.

Suffix match: among earlier moments whose last L minutes are identical, how often a hit came next (the contexts of
prediction by partial matching, Cleary & Witten 1984, and context-tree weighting, Willems et al. 1995). Analogs: the
same with all moments, weighted by the number of differing minutes, exact or within a minute. Imports numba.
"""

from __future__ import annotations

import numpy as np

from prewarm.forecast.levels.feature_gaps import Array, compiled
from prewarm.forecast.levels.feature_table import SUFFIXES

BITS = 64
_ONE = np.uint64(1)
_M1, _M2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_M4, _H01 = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_LOW16, _LOW32 = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
_S1, _S2, _S4, _S56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
_NEAR = np.exp(-np.arange(2 * BITS + 1.0))
_WIDE = np.exp(-np.arange(2 * BITS + 1.0) / 2)
_ANALOGS = 5


@compiled  # type: ignore[untyped-decorator]
def _ones(word: np.uint64) -> np.uint64:
    word = word - ((word >> _S1) & _M1)
    word = (word & _M2) + ((word >> _S2) & _M2)
    word = (word + (word >> _S4)) & _M4
    return (word * _H01) >> _S56


@compiled  # type: ignore[untyped-decorator]
def _matching_minutes(different: np.uint64) -> int:
    """Minutes, from the latest back, in which two patterns agree."""
    if different == np.uint64(0):
        return BITS
    lowest = different & (~different + _ONE)
    return int(np.int64(_ones(lowest - _ONE)))


@compiled  # type: ignore[untyped-decorator]
def _widened(word: np.uint64) -> np.uint64:
    return word | (word << _ONE) | (word >> _ONE)


@compiled  # type: ignore[untyped-decorator]
def _pattern(x: Array) -> np.uint64:
    word = np.uint64(0)
    for i in range(BITS):
        if x[1 + i]:
            word |= _ONE << np.uint64(i)
    return word


@compiled  # type: ignore[untyped-decorator]
def compare(x: Array, facts: Array, suffix: Array, analog: Array) -> None:
    """suffix (int64 [65, 2]): hits and trials by length matched; analog (float [5, 2]): weighted hits, weights."""
    suffix[:] = 0
    analog[:] = 0.0
    present = _pattern(x)
    present_wide = _widened(present)
    past = np.uint64(0)
    weights = np.zeros(_ANALOGS)
    for lag in range(facts[0], facts[4], -1):
        hit = x[lag - facts[4]]
        different = past ^ present
        length = min(_matching_minutes(different), facts[0] - lag)
        suffix[length, 0] += hit
        suffix[length, 1] += 1
        apart = (past & ~present_wide) | (present & ~_widened(past))
        weights[0] = _NEAR[_ones(different & _LOW16)]
        weights[1] = _NEAR[_ones(different & _LOW32)]
        weights[2] = _WIDE[_ones(different)]
        weights[3] = _NEAR[_ones(apart & _LOW32)]
        weights[4] = _NEAR[_ones(apart)]
        for i in range(_ANALOGS):
            analog[i, 0] += weights[i] * hit
            analog[i, 1] += weights[i]
        past = (past << _ONE) | np.uint64(x[lag])
    for length in range(BITS, 0, -1):
        suffix[length - 1, 0] += suffix[length, 0]
        suffix[length - 1, 1] += suffix[length, 1]


@compiled  # type: ignore[untyped-decorator]
def suffixes(facts: Array, suffix: Array, out: Array) -> None:
    """Shares at fixed lengths, at the longest with 1, 3, 8 and 20 trials, and blended from short to long."""
    rate = facts[1] / facts[0]
    for i in range(SUFFIXES.size):
        hits, trials = suffix[SUFFIXES[i], 0], suffix[SUFFIXES[i], 1]
        out[i] = (hits + rate) / (trials + 1.0)
        out[SUFFIXES.size + i] = trials
    at = 2 * SUFFIXES.size
    length = BITS
    for enough in (1, 3, 8, 20):
        while length > 0 and suffix[length, 1] < enough:
            length -= 1
        if enough < 20:
            out[at] = length
            at += 1
        out[at] = (suffix[length, 0] + rate) / (suffix[length, 1] + 1.0)
        at += 1
    blend = rate
    for length in range(BITS + 1):
        if suffix[length, 1] == 0:
            break
        if length == 0 or suffix[length, 1] != suffix[length - 1, 1]:
            blend = (suffix[length, 0] + 2.0 * blend) / (suffix[length, 1] + 2.0)
    out[at] = blend


@compiled  # type: ignore[untyped-decorator]
def analogs(facts: Array, analog: Array, out: Array) -> None:
    """Weighted share of hits after similar moments, and the weight found."""
    rate = facts[1] / facts[0]
    out[0] = (analog[0, 0] + rate) / (analog[0, 1] + 1.0)
    out[1] = (analog[1, 0] + rate) / (analog[1, 1] + 1.0)
    out[2] = (analog[2, 0] + 0.3 * rate) / (analog[2, 1] + 0.3)
    out[3] = analog[2, 1]
    for i in (3, 4):
        out[2 * i - 2] = (analog[i, 0] + rate) / (analog[i, 1] + 1.0)
        out[2 * i - 1] = analog[i, 1]
