"""How one synthetic function is called over time: one small law per shape, from a generator, a clock and a daily total.

Every law returns whole counts (minutes,) whose mean over a day is near `daily_total`. Rates are rounded before counts
are drawn, so that the last bit of a platform's powers cannot change a trace. Constants marked `chosen` have no public
source; they are listed in docs/experiments.md.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from prewarm.domain import FloatArray, IntArray
from prewarm.traces.generate.clock import DAY, WEEK, LocalClock
from prewarm.traces.generate.tables import fitted_tables

PERIODS = np.array([1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440])
JITTERY_TIMERS = 0.36  # sample100: 16 of 44 timers have gaps one minute off their period
JITTER = (0.15, 0.70, 0.15)  # chosen: a jittery firing is a minute early, in time, late
MISSED_FIRINGS = 0.005  # chosen
FULL_HOUR_TIMERS = 0.6  # chosen: share of timers whose phase is 0
SEASON_STRENGTH = (1.0, 4.0)  # chosen: power of the fleet's profile in a single function
WEEKEND_SHARE = (0.1, 1.0)  # chosen: weekend demand as a share of that of weekdays
DAY_SPREAD = 0.2  # chosen: standard deviation of the log of a day's level
BURST_CALLS = 25.0  # chosen: mean calls of a burst
BURST_MINUTES = 6.0  # chosen: mean length of a burst
GAP_SPREAD = 1.2  # chosen: standard deviation of the log of an intermittent function's gaps
GROWTH = (2.0, 10.0)  # chosen: demand at the end over demand at the start
LATE_STARTS = 0.5  # chosen: share of growing functions that are deployed during the trace


def timer(rng: Generator, clock: LocalClock, daily_total: float) -> IntArray:
    """A schedule in local time, with several calls a minute above 1,440 a day; hours that the clock skips are lost."""
    per_minute = max(1, round(daily_total / DAY))
    period = timer_period(daily_total)
    phase = 0 if rng.random() < FULL_HOUR_TIMERS else int(rng.integers(period))
    fires = np.flatnonzero(clock.minute_of_day() % period == phase)
    fires = fires[rng.random(len(fires)) >= MISSED_FIRINGS]
    if rng.random() < JITTERY_TIMERS and period > 1:
        fires = np.clip(fires + rng.choice([-1, 0, 1], len(fires), p=JITTER), 0, clock.minutes - 1)
    return np.bincount(fires, minlength=clock.minutes) * per_minute


def timer_period(daily_total: float) -> int:
    """The usual period in minutes whose firings a day come nearest to the total, in ratio."""
    return int(PERIODS[np.argmin(np.abs(np.log(PERIODS * daily_total / DAY)))])


def seasonal_rate(rng: Generator, clock: LocalClock, daily_total: float) -> FloatArray:
    """Expected calls per minute (minutes,): the fleet's weekly profile, sharpened, in local time, days at levels."""
    table = fitted_tables().week_profile.reshape(-1)
    hours = np.arange(len(table) + 1) * 60
    profile = np.interp(np.arange(WEEK), hours, np.append(table, table[0])) ** rng.uniform(*SEASON_STRENGTH)
    profile[5 * DAY :] *= rng.uniform(*WEEKEND_SHARE)
    shifted = np.roll(profile, int(rng.integers(-3, 4)) * 60)
    shape = (shifted / shifted.mean())[clock.minute_of_week()]
    level = np.repeat(np.exp(rng.normal(0, DAY_SPREAD, clock.days)), DAY)
    rate: FloatArray = np.round(daily_total / DAY * shape * level, 9)
    return rate


def seasonal(rng: Generator, clock: LocalClock, daily_total: float) -> IntArray:
    """Poisson calls around a daily and weekly rhythm."""
    return rng.poisson(seasonal_rate(rng, clock, daily_total))


def bursts(rng: Generator, clock: LocalClock, daily_total: float) -> IntArray:
    """Silence, then a crowd: bursts at random moments, each of some calls over some minutes (both geometric)."""
    calls = min(BURST_CALLS, max(1.0, daily_total))
    starts = rng.integers(clock.minutes, size=rng.poisson(clock.days * daily_total / calls))
    sizes = rng.geometric(1 / calls, len(starts))
    lengths = rng.geometric(1 / BURST_MINUTES, len(starts))
    owner = np.repeat(np.arange(len(starts)), sizes)
    minute = starts[owner] + (rng.random(len(owner)) * lengths[owner]).astype(np.int64)
    return np.bincount(minute[minute < clock.minutes], minlength=clock.minutes)


def intermittent(rng: Generator, clock: LocalClock, daily_total: float) -> IntArray:
    """A renewal process with log-normal gaps whose mean gives the total; sometimes a second call in the same minute."""
    mean_gap = DAY / daily_total
    expected = int(clock.minutes / mean_gap * 2) + 20
    gaps = np.exp(rng.normal(np.log(mean_gap) - GAP_SPREAD**2 / 2, GAP_SPREAD, expected))
    at = (np.cumsum(np.round(gaps, 6)) - rng.random() * gaps[0]).astype(np.int64)
    return np.bincount(at[at < clock.minutes], minlength=clock.minutes)


def growing(rng: Generator, clock: LocalClock, daily_total: float) -> tuple[IntArray, int]:
    """A seasonal function whose demand grows exponentially, and the minute of its first day (0 or a later midnight)."""
    late = rng.random() < LATE_STARTS and clock.days > 1
    first_day = int(rng.integers(1, max(2, clock.days // 2 + 1))) if late else 0
    growth = np.exp(np.linspace(0, np.log(rng.uniform(*GROWTH)), clock.minutes))
    rate = np.round(seasonal_rate(rng, clock, daily_total) * growth / growth.mean(), 9)
    rate[: first_day * DAY] = 0
    return rng.poisson(rate), first_day * DAY


def once(rng: Generator, clock: LocalClock) -> IntArray:
    """A single call at a random minute."""
    counts = np.zeros(clock.minutes, dtype=np.int64)
    counts[rng.integers(clock.minutes)] = 1
    return counts
