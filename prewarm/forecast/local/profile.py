"""Daily and weekly profiles in local time: what is usual at this time of day, on this kind of day.

Slots of fifteen minutes (a step, where steps are longer); newer days weigh more; weekends are kept apart once eight
days are known. How the last hour went against its profile scales the coming hours, fading with a half-life of two
hours. Counts scatter around the profile as a negative binomial whose dispersion is read from the past.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

import numpy as np

from prewarm.domain import FloatArray, IntArray
from prewarm.forecast.batch import ForecastBatch, Levels, Said, sane
from prewarm.forecast.distribution import counts_around
from prewarm.forecast.local.calendar import DAY_S, is_weekend, local_seconds, step_times
from prewarm.forecast.local.smoothing import Smoothing
from prewarm.forecast.series import SeriesBatch

SLOT_S = 900
DAY_WEIGHT = 0.85  # of a day against the day after it
FEWEST_DAYS = 2.0
WEEKEND_DAYS = 8.0
RECENT_S = 3_600
HALF_LIFE_S = 7_200
SHRINK = 2.0  # expected calls' worth of "as usual" that the last hour is mixed with


@dataclass(frozen=True, slots=True)
class DayProfile:
    """The forecaster. A history under two days is handed to plain smoothing."""

    zone: ZoneInfo
    name: str = "profile"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """The profile at the coming local times, scaled by how the last hour went."""
        days = batch.values.shape[1] * batch.step_s / DAY_S
        if days < FEWEST_DAYS:
            plain = Smoothing(trend=False).predict(batch, steps, levels)
            why = f"history of {days:.1f} days is shorter than {FEWEST_DAYS:g} days"
            return replace(plain, model=self.name, reasons=tuple(f"{why}; {r}" for r in plain.reasons))
        slot_s = max(SLOT_S, batch.step_s)
        weekends = days >= WEEKEND_DAYS
        past = _slots(step_times(batch.start, batch.step_s, batch.values.shape[1]), slot_s, self.zone, weekends)
        coming = _slots(step_times(batch.end, batch.step_s, steps), slot_s, self.zone, weekends)
        usual = _profile(batch, past, slot_s, 2 if weekends else 1)
        fitted, ahead = usual[:, past], usual[:, coming]
        mean = ahead * _scale(batch, fitted, steps)
        quantiles, p_at_least = counts_around(mean, _dispersion(batch.values, fitted), levels)
        kinds = "weekday and weekend" if weekends else "daily"
        why = f"{kinds} profile of {days:.0f} days in {self.zone.key}"
        return sane(Said(self.name, why), levels, mean=mean, quantiles=quantiles, p_at_least=p_at_least)


def _slots(times: FloatArray, slot_s: int, zone: ZoneInfo, weekends: bool) -> IntArray:
    """Slot of the local day for each moment; weekend slots follow the weekday ones."""
    local = local_seconds(times, zone)
    slot: IntArray = (local % DAY_S) // slot_s
    if weekends:
        slot = slot + (is_weekend(local) * (-(-DAY_S // slot_s))).astype(np.int64)
    return slot


def _profile(batch: SeriesBatch, slots: IntArray, slot_s: int, kinds: int) -> FloatArray:
    """Weighted mean count per slot, (n, S); a slot never seen takes the function's mean."""
    size = kinds * (-(-DAY_S // slot_s))
    length = batch.values.shape[1]
    ages = (length - 1 - np.arange(length)) * batch.step_s // DAY_S
    weight = DAY_WEIGHT ** ages.astype(np.float64)
    known = ~np.isnan(batch.values)
    total, mass = np.zeros((len(batch.names), size)), np.zeros((len(batch.names), size))
    order = np.argsort(slots, kind="stable")
    present, first = np.unique(slots[order], return_index=True)
    total[:, present] = np.add.reduceat((np.nan_to_num(batch.values) * weight)[:, order], first, axis=1)
    mass[:, present] = np.add.reduceat((known * weight)[:, order], first, axis=1)
    overall = total.sum(axis=1) / np.maximum(mass.sum(axis=1), 1e-12)
    usual: FloatArray = np.where(mass > 0, total / np.maximum(mass, 1e-12), overall[:, None])
    return usual


def _scale(batch: SeriesBatch, fitted: FloatArray, steps: int) -> FloatArray:
    """How the last hour went against its profile, (n, steps), fading to one."""
    recent = max(1, RECENT_S // batch.step_s)
    values = batch.values[:, -recent:]
    expected = np.where(np.isnan(values), 0.0, fitted[:, -recent:]).sum(axis=1)
    ratio = (np.nansum(values, axis=1) + SHRINK) / (expected + SHRINK)
    ahead_s = batch.step_s * np.arange(1, steps + 1)
    fading = 0.5 ** (ahead_s / HALF_LIFE_S)
    scale: FloatArray = np.exp(np.log(ratio)[:, None] * fading[None, :])
    return scale


def _dispersion(values: FloatArray, fitted: FloatArray) -> FloatArray:
    """Variance over mean of the counts around their profile, (n, 1), at least 1."""
    squares = np.nansum((values - fitted) ** 2, axis=1)
    expected = np.where(np.isnan(values), 0.0, fitted).sum(axis=1)
    ratio: FloatArray = squares / np.maximum(expected, 1e-12)
    return np.maximum(np.where(expected > 0, ratio, 1.0), 1.0)[:, None]
