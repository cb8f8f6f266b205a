"""Kernels for the levels above the first: how much of the level below was in use, minute by minute.

Level k is needed when more than k - 1 instances are busy, so the mean concurrency divided by k - 1 says how near that
is; the level's own 0/1 past does not. For the first level the group is NaN. Imports numba.
"""

from __future__ import annotations

import math

import numpy as np

from prewarm.forecast.levels.feature_gaps import Array, compiled

_MEANS = ((3, 7), (5, 8), (10, 9), (30, 10), (60, 11))
_LIKE, _LIKE_BEFORE = 4 / 3, 1.43


@compiled  # type: ignore[untyped-decorator]
def _spread(values: Array) -> float:
    return math.sqrt(max(0.0, (values * values).mean() - values.mean() ** 2))


@compiled  # type: ignore[untyped-decorator]
def use(base: Array, marks: Array, bound: float, facts: Array, out: Array) -> None:
    """The last minutes' use of the level below (1 = exactly full): values, maxima, means, spread, slope."""
    known = facts[0]
    out[0] = 1.0
    for lag in range(1, min(3, known) + 1):
        out[lag] = base[lag] / bound
    if known >= 5:
        out[4] = base[1:6].max() / bound
    if known >= 15:
        out[5] = base[1:16].max() / bound
        out[14] = (base[1:4].mean() - base[4:11].mean()) / bound
    if known >= 60:
        out[6] = base[1:61].max() / bound
    for minutes, at in _MEANS:
        if known >= minutes:
            out[at] = base[1 : minutes + 1].mean() / bound
    if known >= 10:
        out[12] = _spread(base[1:11] / bound)
    if known >= 30:
        out[13] = _spread(base[1:31] / bound)
        out[17] = (base[1:31] > 0).mean()
    out[22] = marks[-1] / bound
    out[24] = marks.max() / bound


@compiled  # type: ignore[untyped-decorator]
def below(base: Array, bound: float, facts: Array, out: Array) -> None:
    """The level below at work: how long ago, for how long without a pause, and how much when it was called."""
    known = facts[0]
    out[15] = facts[7]
    run = 0
    while run < known and base[run + 1] > 0:
        run += 1
    out[16] = run
    called, total = 0, 0.0
    for lag in range(1, min(10, known) + 1):
        if base[lag] > 0:
            called += 1
            total += base[lag]
    if called:
        out[23] = total / bound / called


@compiled  # type: ignore[untyped-decorator]
def _alike(value: float, other: float, ratio: float) -> bool:
    if value == 0.0:
        return other == 0.0
    return value < other * ratio and other < value * ratio


@compiled  # type: ignore[untyped-decorator]
def after_like(base: Array, x: Array, facts: Array, out: Array) -> None:
    """How often the level was needed after a minute like the last one, and after two minutes like the last two."""
    known, ahead = facts[0], facts[4]
    tally = np.zeros((2, 2))
    for lag in range(ahead + 2, known + 1):
        if not _alike(base[1], base[lag], _LIKE):
            continue
        hit = x[lag - 1 - ahead]
        tally[0, 0] += hit
        tally[0, 1] += 1
        if lag < known and _alike(base[2], base[lag + 1], _LIKE_BEFORE):
            tally[1, 0] += hit
            tally[1, 1] += 1
    for i in range(2):
        out[18 + 2 * i] = tally[i, 1]
        out[19 + 2 * i] = (tally[i, 0] + 0.1) / (tally[i, 1] + 1.0)
