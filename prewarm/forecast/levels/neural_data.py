"""Days to train the sequence model on, made from a few real ones, and the minutes of them that are worth reading.

The exemplars are single functions; what is scaled in production is an app, the union of several. So a training day is a
real one circularly turned, or a union of two to five, or a bent one (hits lost or moved by a minute), or a timer; the
mean concurrency, and with it need above one, comes from a drawn duration. What is made obeys the rule of what is real:
nothing that resembles a series kept apart for evaluation is learned from (benchmarks A3.2). Minutes are drawn with
unequal shares and weighted by the inverse, so that the loss stays unbiased.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from prewarm.domain import BoolArray, Float32Array, FloatArray, Int32Array, IntArray
from prewarm.forecast.levels.dataset import is_alike

DAY: Final = 1440
MAX_NEED: Final = 64
_KINDS: Final = (0.30, 0.30, 0.08, 0.32)  # shares of turned, union, bent, timer
_UNION, _BENT, _TIMER = 1, 2, 3
_TIMER_SHARE: Final = 0.32  # of the functions of sample100; the exemplars that look like no app of set A have 2 %
_PART_OF_DAY: Final = 0.3  # share of timers that run part of the day only
_REDRAWS: Final = 30
_PERIODS: Final = np.array([1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 90, 120, 180, 240, 360, 480, 720])
_PERIOD_WEIGHTS: Final = np.array([1, 3, 1, 1, 12, 0.5, 3, 0.5, 5, 1, 3, 5, 0.5, 1.5, 1, 1, 1, 0.5, 1])


@dataclass(frozen=True, slots=True)
class Exemplars:
    """Real days: counts float64[n, DAY] of invocations per minute, weight float64[n] how common each is.

    apart: bool[k, DAY] 0/1 series that no made day may resemble, or None.
    """

    counts: FloatArray
    weight: FloatArray
    apart: BoolArray | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Sparse history (CSR, every row known from minute 0) and drawn queries int64[Q, 3] (row, level, minute)."""

    minute: Int32Array
    size: Float32Array
    indptr: IntArray
    since: IntArray
    queries: IntArray
    hit: Float32Array
    weight: Float32Array


def draw_period(rng: np.random.Generator) -> float:
    """Minutes from call to call of a timer: a common period in three of four, else any up to 400."""
    if rng.random() < 0.75:
        return float(rng.choice(_PERIODS, p=_PERIOD_WEIGHTS / _PERIOD_WEIGHTS.sum()))
    return float(np.exp(rng.uniform(0.7, 6.0)))


def draw_timer(period: float, rng: np.random.Generator) -> FloatArray:
    """Counts float64[DAY] of a timer: some drift, jitter and losses, 1 to 3 minutes long, all day or part of it."""
    step = period + (0.0 if rng.random() < 0.6 else rng.choice([0.02, 0.05, 0.1, 0.2, 0.5, 0.8]))
    at = rng.uniform(0, period) + np.arange(0, DAY + period, step)
    at += rng.normal(0, 1, len(at)) * rng.choice([0, 0, 0, 0.1, 0.3, 1.0]) * min(1.0, period / 5)
    at = np.floor(at[rng.random(len(at)) > rng.choice([0, 0, 0, 0.01, 0.03, 0.1])]).astype(np.int64)
    if rng.random() < _PART_OF_DAY:
        first = rng.integers(0, DAY - 240)
        at = at[(at >= first) & (at < first + rng.integers(240, 1200))]
    counts = np.zeros(DAY)
    for length in range(rng.choice([1, 1, 1, 1, 1, 2, 3]) if period > 5 else 1):
        kept = at[(at + length >= 0) & (at + length < DAY)] + length
        counts[kept] = 1.0
    return counts


def make_timers(n: int, rng: np.random.Generator, apart: BoolArray | None = None) -> FloatArray:
    """Counts float64[m, DAY] of m <= n timers, none like a series of `apart` bool[k, DAY].

    One that is like any is drawn anew with the same period, so that common periods stay common: a steady timer of five
    minutes is like another at any phase, but not where it runs half the day. What never passes is left out.
    """
    periods = np.array([draw_period(rng) for _ in range(n)])
    timers = np.zeros((n, DAY))
    waiting = np.arange(n)
    for _ in range(_REDRAWS if apart is not None else 1):
        timers[waiting] = [draw_timer(period, rng) for period in periods[waiting]]
        waiting = waiting[is_alike(timers[waiting] > 0, apart)]
        if waiting.size == 0:
            break
    return np.delete(timers, waiting, axis=0)


def bend(marks: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The day with some hits lost, or some moved by a minute."""
    hits = np.flatnonzero(marks)
    to = hits
    if rng.random() < 0.5:
        to = hits = hits[rng.random(len(hits)) > rng.choice([0.02, 0.05, 0.15])]
    else:
        moved = rng.random(len(hits)) < rng.choice([0.1, 0.3])
        to = (hits + moved * rng.choice([-1, 1], len(hits))) % DAY
    out = np.zeros(DAY)
    np.add.at(out, to, marks[hits])
    return out


def draw_marks(counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Mean concurrency per minute: counts times a drawn duration (minutes) that varies from minute to minute."""
    spread = rng.choice([0.0, 0.05, 0.2, 0.6])
    return np.asarray(counts * np.exp(rng.normal(-5.0, 2.0) + rng.normal(0, spread, len(counts))))


def needs(marks: FloatArray) -> FloatArray:
    """Instances for a mean concurrency: rounded up, at least one where anything ran, at most MAX_NEED."""
    return np.where(marks > 0, np.clip(np.ceil(marks), 1, MAX_NEED), 0.0)


def draw_days(exemplars: Exemplars, timers: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Marks (mean concurrency) float64[m, DAY] of m <= n training days, timers from a pool of `make_timers`.

    The few days that turning, uniting and bending made like a series kept apart are left out.
    """
    share = exemplars.weight / exemplars.weight.sum()
    sparse = share * np.where((exemplars.counts > 0).mean(1) > 0.6, 0.1, 1.0)
    sparse /= sparse.sum()
    order = np.searchsorted(np.cumsum(share), (np.arange(n) + rng.random()) / n).clip(0, len(share) - 1)
    rng.shuffle(order)

    def turned(i: int) -> FloatArray:
        return draw_marks(np.roll(exemplars.counts[i], rng.integers(DAY)), rng)

    def timer() -> FloatArray:
        return draw_marks(timers[rng.integers(len(timers))], rng)

    def part() -> FloatArray:
        if rng.random() < _TIMER_SHARE:
            return timer()
        return turned(int(rng.choice(len(share), p=sparse)))

    def union() -> FloatArray:
        return np.asarray(sum(part() for _ in range(rng.choice([2, 3, 4, 5], p=[0.4, 0.3, 0.2, 0.1]))))

    def draw(kind: int, i: int) -> FloatArray:
        if kind == _UNION:
            return union()
        if kind == _TIMER:
            return timer()
        return bend(turned(i), rng) if kind == _BENT else turned(i)

    kinds = rng.choice(len(_KINDS), n, p=_KINDS)
    days = np.stack([draw(kind, int(i)) for kind, i in zip(kinds, order, strict=True)])
    return np.asarray(days[~is_alike(days > 0, exemplars.apart)])


def draw_levels(need: FloatArray, rng: np.random.Generator) -> IntArray:
    """int64[m, 2]: (row, level) series to learn: level 1 of every row, one further level of those that have one."""
    rows = np.arange(len(need))
    top = need.max(1).astype(np.int64)
    more = rows[top > 1]
    level = 2 + np.floor(rng.random(len(more)) ** 2 * (top[more] - 1)).astype(np.int64)
    return np.stack([np.concatenate([rows, more]), np.concatenate([np.ones(len(rows), np.int64), level])], 1)


def minute_shares(on: BoolArray) -> FloatArray:
    """Share of minutes to draw, float64[m, DAY]: most where something is to be decided, few where all is plain."""
    at = np.arange(DAY)[None]
    last = np.maximum.accumulate(np.where(on, at, -1), 1)
    last = np.concatenate([np.full((len(on), 1), -1), last[:, :-1]], 1)
    age = at - np.maximum(last, 0)
    seen: IntArray = np.cumsum(on, 1) - on
    density = on.mean(1)[:, None]
    share = np.where(on, 1.0, np.where(age <= 30, 0.5, np.where(age <= 120, 0.35, 0.2)))
    share = np.where(density > 0.5, np.where(on, 0.35, 0.8), share)
    share = np.where(density > 0.97, 0.1, share)
    share = np.where((seen < 3) & (age > 120) & ~on, 0.12, share)
    return np.where((seen == 0) & ~on, 0.06, share)


def draw_queries(marks: FloatArray, share: float, rng: np.random.Generator) -> Batch:
    """Days marks float64[n, DAY] as a sparse history with shuffled, weighted queries."""
    need = needs(marks)
    series = draw_levels(need, rng)
    on = need[series[:, 0]] >= series[:, 1:]
    chance = minute_shares(on) * share
    s, minute = np.nonzero(rng.random(on.shape) < chance)
    order = rng.permutation(len(s))
    s, minute = s[order], minute[order]
    row, at = np.nonzero(need)
    return Batch(
        minute=at.astype(np.int32),
        size=np.stack([need[row, at], marks[row, at]], 1).astype(np.float32),
        indptr=np.concatenate([[0], np.cumsum((need > 0).sum(1))]).astype(np.int64),
        since=np.zeros(len(need), np.int64),
        queries=np.column_stack([series[s], minute]).astype(np.int64),
        hit=on[s, minute].astype(np.float32),
        weight=(1.0 / chance[s, minute]).astype(np.float32),
    )
