"""Promotions that repeat: a peak at the same local time yesterday, or on the same weekday last week.

A peak is a count that stands far above the hours around it. One earlier peak makes another one as likely as not; a
second at the same distance makes it likely. The forecast is raised to the size of the peak, from a little before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np

from prewarm.domain import FloatArray, IntArray
from prewarm.forecast.batch import ForecastBatch, Forecaster, Levels
from prewarm.forecast.local.calendar import DAY_S, WEEK_S, local_seconds, raise_to, step_times
from prewarm.forecast.series import SeriesBatch

TOWERS = 4.0  # times the median of the hours around it, that a count needs to be a peak
AROUND_S = 10_800
SLACK_S = 300  # a peak may come so much earlier or later
ONCE, TWICE = 0.5, 0.8  # chance of a peak that was seen one and two periods ago


@dataclass(frozen=True, slots=True)
class RepeatedPeaks:
    """The forecaster `inner`, raised where a peak stood at the same local time one day or one week ago."""

    inner: Forecaster
    zone: ZoneInfo
    name: str = "repeated_peaks"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """What `inner` says, raised; functions without an earlier peak keep its answer."""
        answer = self.inner.predict(batch, steps, levels)
        peaks = peak_heights(batch)
        for period_s, text in ((DAY_S, "yesterday"), (WEEK_S, "last week")):
            once = _at_same_time(peaks, batch, steps, (period_s, self.zone))
            twice = _at_same_time(peaks, batch, steps, (2 * period_s, self.zone))
            chance = np.where(once > 0, np.where(twice > 0, TWICE, ONCE), 0.0)
            height = np.where(twice > 0, (once + twice) / 2.0, once)
            notes = [f"a peak of {h.max():.0f} at the same time {text}" if h.any() else None for h in once]
            answer = raise_to(answer, height, chance, notes)
        return answer


def peak_heights(batch: SeriesBatch) -> FloatArray:
    """Counts (n, T) where they are peaks, else 0; the hours around are summed up in blocks of their median."""
    values = np.nan_to_num(batch.values)
    n, length = values.shape
    block = max(1, AROUND_S // batch.step_s)
    if length < 2 or block < 2:
        return np.zeros_like(values)
    blocks = -(-length // block)
    padded = np.full((n, blocks * block), np.nan)
    padded[:, :length] = values
    usual = np.repeat(np.nanmedian(padded.reshape(n, blocks, block), axis=2), block, axis=1)[:, :length]
    heights: FloatArray = np.where(values > TOWERS * np.maximum(usual, 0.5), values, 0.0)
    return heights


def _at_same_time(peaks: FloatArray, batch: SeriesBatch, steps: int, back: tuple[int, ZoneInfo]) -> FloatArray:
    """Largest peak (n, steps) within SLACK_S of the same local time, `back` = (seconds, zone) before each step."""
    columns = _columns_before(batch, steps, *back)
    slack = max(1, SLACK_S // batch.step_s)
    found = np.zeros((peaks.shape[0], steps))
    for shift in range(-slack, slack + 1):
        at = columns + shift
        inside = (at >= 0) & (at < peaks.shape[1])
        found[:, inside] = np.maximum(found[:, inside], peaks[:, at[inside]])
    return found


def _columns_before(batch: SeriesBatch, steps: int, period_s: int, zone: ZoneInfo) -> IntArray:
    """Column of the same local time `period_s` before each coming step (steps,); outside the history is possible."""
    coming = step_times(batch.end, batch.step_s, steps)
    before = coming - period_s
    moved = local_seconds(coming, zone) - local_seconds(before, zone) - period_s  # the clock changed in between
    columns: IntArray = np.floor((before + moved - batch.start) / batch.step_s).astype(np.int64)
    return columns
