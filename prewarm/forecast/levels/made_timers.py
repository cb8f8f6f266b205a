"""Timers made for training: what a trigger by the clock looks like when its calls are counted by the minute.

The exemplars hold one series for each daily total, so of the thousands of five-minute timers of a fleet they hold one.
These are drawn from the usual periods and from any other, below the minute: a fixed grid with lateness, or the next
call a period after the last one ended; some calls fail to come, some timers run part of the day, some functions have
two or three. Nothing is fitted to any trace.
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import FloatArray

USUAL_PERIODS_MIN = np.array([1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240])
_USUAL_SHARE = np.array([2, 2, 1, 1, 6, 1, 4, 1, 5, 2, 4, 5, 1, 0.5, 0.5]) / 36
_USUAL = 0.8  # share of timers with a usual period; the others are log-uniform
_OTHER_PERIODS_MIN = (1.05, 240.0)
_LATENESS_MIN, _LATENESS_SHARE = (0.01, 0.05, 0.15, 0.4), (0.35, 0.25, 0.25, 0.15)
_MISSED, _MISSED_SHARE = (0.0, 0.01, 0.1), (0.7, 0.2, 0.1)
_TIMERS, _TIMERS_SHARE = (1, 2, 3), (0.7, 0.2, 0.1)
_RESCHEDULES_ITSELF = 0.25
_EARLY_AND_LATE = 0.3  # share of grids whose calls come early as often as late
_PART_OF_DAY = 0.15
_WITH_OTHER_CALLS = 0.3


def made_timers(size: int, others: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Marks (size, T) of timers, three in ten with the calls of one of `others` (n, T), turned, on top."""
    minutes = others.shape[1]
    marks = np.zeros((size, minutes))
    for series in marks:
        for _ in range(int(rng.choice(_TIMERS, p=_TIMERS_SHARE))):
            times = _call_times(minutes, rng)
            np.add.at(series, times[(times >= 0) & (times < minutes)], np.exp(rng.normal()))
        if rng.random() < _WITH_OTHER_CALLS:
            other = np.roll(others[rng.integers(len(others))], rng.integers(minutes))
            series += other * np.exp(rng.normal())
    return marks


def _call_times(minutes: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Minutes in which one timer's calls fall."""
    low, high = np.log(_OTHER_PERIODS_MIN)
    usual = rng.random() < _USUAL
    period = float(rng.choice(USUAL_PERIODS_MIN, p=_USUAL_SHARE)) if usual else float(np.exp(rng.uniform(low, high)))
    size = int((minutes + 60) / period) + 2
    lateness = float(rng.choice(_LATENESS_MIN, p=_LATENESS_SHARE))
    late = rng.normal(0.0, lateness, size)
    if rng.random() < _RESCHEDULES_ITSELF:
        times = np.cumsum(period + np.abs(late)) - rng.random() * period
    else:
        times = period * (np.arange(size) + rng.random()) + (late if rng.random() < _EARLY_AND_LATE else np.abs(late))
    times = times[rng.random(size) >= float(rng.choice(_MISSED, p=_MISSED_SHARE))]
    if rng.random() < _PART_OF_DAY:
        first = rng.integers(0, max(1, minutes - 240))
        times = times[(times >= first) & (times < first + rng.integers(60, 900))]
    return np.floor(times).astype(np.int64)
