"""Promotions: a seasonal function with events that multiply its demand, most of them announced.

Half of the functions repeat their event at the same local time (every day or every week), the others have single ones.
An event rises within minutes, holds, and decays. A small share comes unannounced, and a small share of the announced
ones does not happen, since a policy that trusts every announcement must pay for it. All constants here are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from prewarm.domain import FloatArray, IntArray
from prewarm.traces.generate.clock import DAY, LocalClock
from prewarm.traces.generate.shapes import seasonal_rate

REPEATING = 0.5
WEEKLY = 0.3  # of the repeating ones
SINGLES_PER_WEEK = 2.0
UNANNOUNCED = 0.1
CANCELLED = 0.05
RISE_MINUTES = (0, 3)
HOLD_MINUTES = (20, 120)
DECAY_MINUTES = 15.0
PEAK_CONCURRENCY = (2.0, 72.0)  # log-uniform; 72 is the 5,000 calls per second at 100 ms and 70 % of 10
NOTICE_MINUTES = (2 * 60, 7 * DAY)
HINT_SPREAD = 0.3  # standard deviation of the log of announced over true peak


@dataclass(frozen=True, slots=True)
class Event:
    """An announcement: start, end (exclusive) and announcement in minutes of the trace, and the peak it names."""

    start: int
    end: int
    announced: int
    peak_per_minute: float


def promoted(
    rng: Generator, clock: LocalClock, daily_total: float, duration_ms: float
) -> tuple[IntArray, tuple[Event, ...]]:
    """Counts (minutes,) and the announcements, by start."""
    rate = seasonal_rate(rng, clock, daily_total)
    low, high = np.log(PEAK_CONCURRENCY)
    peak = float(np.exp(rng.uniform(low, high))) * 60_000 / duration_ms
    hold = int(rng.integers(*HOLD_MINUTES))
    announcements = []
    for start in _starts(rng, clock):
        true_peak = peak * float(np.exp(rng.normal(0, HINT_SPREAD)))
        shape = _shape(int(rng.integers(*RISE_MINUTES)), hold)[: clock.minutes - start]
        if rng.random() >= CANCELLED:
            rate[start : start + len(shape)] += true_peak * shape
        if rng.random() >= UNANNOUNCED:
            notice = int(rng.integers(*NOTICE_MINUTES))
            announcements.append(Event(start, start + hold, start - notice, round(peak, 3)))
    return rng.poisson(np.round(rate, 9)), tuple(announcements)


def _starts(rng: Generator, clock: LocalClock) -> list[int]:
    """Minutes of the trace at which events begin, rising."""
    time_of_day = int(rng.integers(8 * 4, 22 * 4)) * 15
    first_day = int(clock.local[0]) // DAY
    days = range(first_day, int(clock.local[-1]) // DAY + 1)
    if rng.random() < REPEATING:
        step = 7 if rng.random() < WEEKLY else 1
        chosen = list(days)[int(rng.integers(step)) :: step]
        found = [clock.place(day * DAY + time_of_day) for day in chosen]
        return [at for at in found if at is not None]
    count = max(1, int(rng.poisson(SINGLES_PER_WEEK * clock.days / 7)))
    return sorted({int(at) for at in rng.integers(clock.minutes, size=count)})


def _shape(rise: int, hold: int) -> FloatArray:
    """Relative demand of an event: linear rise, plateau, exponential decay down to about 1 %."""
    tail = np.exp(-np.arange(1, int(4.6 * DECAY_MINUTES)) / DECAY_MINUTES)
    return np.concatenate((np.linspace(0, 1, rise + 2)[1:-1], np.ones(hold), tail))
