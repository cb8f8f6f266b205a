"""Timers whose period does not divide the hour: found by folding what the weekly profile leaves over.

A timer of 11 minutes wanders through the minutes of the hour and of the day, so neither profile sees it. Folding the
residual at every period and asking how much more the phase means vary than chance allows finds it within days.
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.dense.root import DAY

SHORTEST, LONGEST = 7, 360  # periods tried, minutes
COMBS = 2
FOLD_DAYS = 5


def comb_periods(residual: FloatArray) -> tuple[int, ...]:
    """The COMBS periods that explain most of a residual (T,), one after the other; () under two days."""
    if len(residual) < 2 * DAY:
        return ()
    scale = 1.5 * float(np.median(np.abs(residual))) + 1e-6
    left = np.clip(residual / scale, -4.0, 4.0)
    left = left - left.mean()
    found: list[int] = []
    for _ in range(COMBS):
        period = max(range(SHORTEST, LONGEST + 1), key=lambda p: _explained(left, p))
        found.append(period)
        left = left - _phase_mean(left, period)
    return tuple(found)


def _explained(values: FloatArray, period: int) -> float:
    """Variance between phases beyond what noise alone would show, times the cycles."""
    cycles = len(values) // period
    if cycles < 8:
        return -np.inf
    whole = values[-cycles * period :]
    means = whole.reshape(cycles, period).mean(axis=0)
    return float(means @ means * cycles - np.square(whole).mean() * period)


def _phase_mean(values: FloatArray, period: int) -> FloatArray:
    """Each value's phase mean, drawn a little to zero."""
    cycles = len(values) // period
    first = len(values) - cycles * period
    means = values[first:].reshape(cycles, period).mean(axis=0) * (1.0 - 1.0 / cycles)
    spread: FloatArray = means[(np.arange(len(values)) - first) % period]
    return spread
