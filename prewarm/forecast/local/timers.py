"""Functions that a timer calls: period, phase and jitter, found for all functions at once.

For each period that people give to timers (minutes to a week) the calls are folded onto the phase. A timer is believed
when nearly every cycle has a call at the same phase, chance would hardly have put them there (Chernoff's bound on the
binomial tail, times the phases and periods tried), three cycles or more were seen and the newest were not missed. Of
several the one that explains most calls wins, so "every ten minutes" is not taken for six hourly timers. Phases are
those of UTC: cron on servers mostly is, and a daily timer in local time moves by an hour twice a year only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import BoolArray, FloatArray, IntArray
from prewarm.forecast.batch import ForecastBatch, Levels, Said, sane
from prewarm.forecast.distribution import newest_sizes, rare_demand
from prewarm.forecast.local.intermittent import tsb
from prewarm.forecast.series import SeriesBatch

PERIODS_S: tuple[int, ...] = tuple(
    60 * minutes
    for minutes in (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720, 1440, 10_080)
)
FEWEST_CYCLES = 3
RECALL = 0.75  # cycles that must have had a call
EXPLAINED = 0.25  # share of a function's calls that its timer must account for
FALSE_ALARMS = 0.05  # of a function without a timer, over all periods and phases that are tried
STOPPED_AFTER = 2.5  # cycles without a call at the phase
RECENT = 24  # newest cycles that speak for themselves where twice as many are known
BUSIEST = 0.6  # share of steps with calls above which no timer is looked for
CELLS = 40_000_000  # bound on the folded table (functions x phases), in cells


@dataclass(frozen=True, slots=True)
class Timers:
    """Per function (n,): period in steps (0: no timer), phase of the first step of the calls' window, its width.

    hits: share of cycles with a call in the window (n,); others: chance of a call in any other step (n,).
    by_offset (n, 3): share of cycles with a call at each step of the window.
    """

    period: IntArray
    phase: IntArray
    by_offset: FloatArray
    hits: FloatArray
    others: FloatArray

    def chances(self, first_step: int, steps: int) -> FloatArray:
        """P(call) in each of the steps from absolute step number `first_step` on, (n, steps)."""
        out = np.repeat(self.others[:, None], steps, axis=1)
        timed = np.flatnonzero(self.period > 0)
        at = first_step + np.arange(steps)
        offset = (at[None, :] - self.phase[timed, None]) % self.period[timed, None]
        in_window = offset < 3
        inside = np.take_along_axis(self.by_offset[timed], np.minimum(offset, 2), axis=1)
        out[timed] = np.where(in_window, np.maximum(inside, out[timed]), out[timed])
        return out


def find_timers(batch: SeriesBatch, periods_s: tuple[int, ...] = PERIODS_S) -> Timers:
    """The timer of each function, if it has one."""
    values = batch.values
    n, length = values.shape
    calls = np.nonzero(np.nan_to_num(values) > 0)
    known = np.maximum((~np.isnan(values)).sum(axis=1), 1)
    total = np.bincount(calls[0], minlength=n)
    base = total / known
    best = Timers(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((n, 3)), np.zeros(n), base)
    score = np.zeros(n)
    first_step = round(batch.start / batch.step_s)
    timed = base[calls[0]] <= BUSIEST
    calls = (calls[0][timed], calls[1][timed])
    for period_s in periods_s:
        period, left = divmod(period_s, batch.step_s)
        if left or period < 2 or period * FEWEST_CYCLES > length or n * period > CELLS:
            continue
        found = _folded(calls, (known, length), period=period, first_step=first_step)
        better = found.accepted(base, total) & (found.score(total) > score + 1e-9)
        score = np.where(better, found.score(total), score)
        rest = np.maximum(total - found.inside, 0) / np.maximum(known * (1.0 - found.width / period), 1.0)
        best = Timers(
            np.where(better, period, best.period),
            np.where(better, found.phase, best.phase),
            np.where(better[:, None], found.by_offset, best.by_offset),
            np.where(better, found.recall, best.hits),
            np.where(better, rest, best.others),
        )
    return best


@dataclass(frozen=True, slots=True)
class _Fold:
    """Calls of n functions folded onto one period; `inside`: calls in the best window of `width` steps.

    recall: share of `trials` cycles with a call there: of all known ones, or of the newest where that is more (a
    timer that rests at night is a timer by day).
    """

    period: int
    phase: IntArray
    by_offset: FloatArray
    inside: IntArray
    recall: FloatArray
    trials: FloatArray
    missed: FloatArray
    width: int

    def accepted(self, base: FloatArray, total: IntArray) -> BoolArray:
        chance = np.clip(1.0 - (1.0 - np.minimum(base, 1.0)) ** self.width, 1e-9, 1.0)
        tries = self.period * len(PERIODS_S) / FALSE_ALARMS
        surprise = self.trials * _divergence(np.maximum(self.recall, chance), chance)
        enough = (self.trials >= FEWEST_CYCLES) & (total >= FEWEST_CYCLES)
        regular = (self.recall >= RECALL) & (self.inside >= EXPLAINED * total) & (self.missed <= STOPPED_AFTER)
        believed: BoolArray = enough & regular & (surprise >= np.log(tries))
        return believed

    def score(self, total: IntArray) -> FloatArray:
        explained: FloatArray = self.recall * np.minimum(self.inside / np.maximum(total, 1), 1.0)
        return explained


def _divergence(seen: FloatArray, chance: FloatArray) -> FloatArray:
    """Kullback-Leibler divergence of two coins, in nats."""
    other = 1.0 - seen
    heads = seen * np.log(seen / chance)
    tails = np.where(other > 0, other * np.log(np.maximum(other, 1e-12) / np.maximum(1.0 - chance, 1e-12)), 0.0)
    both: FloatArray = heads + tails
    return both


def _folded(calls: tuple[IntArray, ...], shape: tuple[IntArray, int], *, period: int, first_step: int) -> _Fold:
    """The best window of each function: three steps wide (jitter of one either way), one step for short periods.

    `shape`: known steps of each function (n,), and columns in all.
    """
    row, column = calls
    known, length = shape
    n = len(known)
    width = 3 if period >= 8 else 1
    phases = (column + first_step) % period
    phase = _best_phase(np.bincount(row * period + phases, minlength=n * period).reshape(n, period), width)
    offset = (phases - phase[row]) % period
    hit = offset < width
    number = (column[hit] + first_step - phase[row[hit]]) // period - first_step // period + 1  # of the cycle, from 0
    met = np.zeros((n, length // period + 3), dtype=bool)
    met[row[hit], number] = True
    last_whole = (length - width + first_step - phase) // period - first_step // period + 1
    recall, trials, over_all = _recall(met, last_whole, np.maximum(np.floor(known / period), 1.0))
    last = np.full(n, -(10**9), dtype=np.int64)
    np.maximum.at(last, row[hit], column[hit])
    counts = np.bincount(row[hit] * 3 + offset[hit], minlength=3 * n).reshape(n, 3)
    by_offset = (counts + 0.1) / (known / period + 0.2)[:, None] * (recall / np.maximum(over_all, 1e-9))[:, None]
    return _Fold(
        period,
        phase,
        np.where(counts > 0, np.minimum(by_offset, 1.0), 0.0),
        np.bincount(row[hit], minlength=n),
        recall,
        trials,
        (length - 1 - last) / period,
        width,
    )


def _best_phase(table: IntArray, width: int) -> IntArray:
    """First step of the window with the most calls, (n,), the middle of the window breaking ties."""
    windows = sum(np.roll(table, -shift, axis=1) for shift in range(width))
    centred = windows + 0.25 * (np.roll(table, -1, axis=1) if width == 3 else 0)
    phase: IntArray = np.argmax(centred, axis=1)
    return phase


def _recall(met: BoolArray, last_whole: IntArray, cycles: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share of cycles with a call, of how many, and the share of all: the newest RECENT count if they have more."""
    over_all = np.minimum(met.sum(axis=1) / cycles, 1.0)
    newest = np.maximum(last_whole[:, None] - np.arange(RECENT)[None, :], 0)
    recent = np.take_along_axis(met, newest, axis=1).mean(axis=1)
    gated = (over_all < RECALL) & (recent > over_all) & (cycles >= 2 * RECENT)
    return np.where(gated, recent, over_all), np.where(gated, float(RECENT), cycles), over_all


@dataclass(frozen=True, slots=True)
class Timer:
    """The forecaster: calls at the timer's phase, others at their rate; without a timer, the smoothed chance (TSB)."""

    name: str = "timer"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """P(call) by phase, sizes as seen."""
        timers = find_timers(batch)
        chance = timers.chances(round(batch.end / batch.step_s), steps)
        plain = timers.period == 0
        smoothed, _ = tsb(batch.values[plain])
        chance[plain] = smoothed[:, None]
        sizes = newest_sizes(batch.values)
        quantiles, p_at_least = rare_demand(chance, sizes, levels)
        typical = np.nansum(sizes, axis=1) / np.maximum((~np.isnan(sizes)).sum(axis=1), 1)
        minutes = timers.period * batch.step_s / 60
        reasons = [
            f"timer every {m:g} min, met {h:.0%} of the time" if m else "no timer found; smoothed chance of a call"
            for m, h in zip(minutes, timers.hits, strict=True)
        ]
        used = ["tsb" if p else self.name for p in plain]
        mean = chance * typical[:, None]
        return sane(Said(self.name, reasons, used), levels, mean=mean, quantiles=quantiles, p_at_least=p_at_least)
