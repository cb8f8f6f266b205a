"""Plain forecasts for dense demand, cheap enough for every function: smoothing, last value, same time yesterday.

Exponential smoothing with a damped additive trend (Gardner and McKenzie 1985) runs over a small grid of parameters for
all functions at once; each takes the set with the least one-step error on its own past. Intervals come from the
one-step errors, widened with the horizon as the model implies (Hyndman et al. 2008, table 6.1, class 1). An unknown
step leaves the state as it is, moved on by the trend.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.batch import ForecastBatch, Levels, Said, sane
from prewarm.forecast.distribution import around_mean
from prewarm.forecast.series import SeriesBatch

# (alpha, beta, phi): level only, then damped trends; the first is also what a short history gets
GRID: tuple[tuple[float, float, float], ...] = (
    (0.1, 0.0, 0.0),
    (0.3, 0.0, 0.0),
    (0.7, 0.0, 0.0),
    (1.0, 0.0, 0.0),
    (0.5, 0.1, 0.9),
    (0.8, 0.3, 0.9),
    (0.8, 0.5, 0.98),
)
WINDOW = 720  # newest columns that are smoothed over
ERRORS_KEPT = 240
TREND_AFTER = 24  # known points before a trend is believed
REACH = 5  # steps that a trend is followed beyond the largest count seen
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Smoothed:
    """End states of the smoothing (sets, n) and one-step errors (sets, n, T), NaN where unknown."""

    level: FloatArray
    trend: FloatArray
    errors: FloatArray


def smooth(values: FloatArray, sets: tuple[tuple[float, float, float], ...]) -> Smoothed:
    """Damped-trend smoothing of values (n, T) with each set of (alpha, beta, phi), all at once.

    The level starts at the first known value, the trend at zero.
    """
    alpha, beta, phi = (column[:, None] for column in np.array(sets).T)
    shape = (len(sets), values.shape[0])
    level, trend = np.full(shape, np.nan), np.zeros(shape)
    errors = np.full((values.shape[1], *shape), np.nan)
    for t, column in enumerate(np.ascontiguousarray(values.T)):
        expected = level + phi * trend
        error = column - expected
        errors[t] = error
        step = np.where(np.isnan(error), 0.0, error)
        level = np.where(np.isnan(level), column, expected + alpha * step)
        trend = phi * trend + alpha * beta * step
    return Smoothed(np.nan_to_num(level), trend, np.moveaxis(errors, 0, 2))


@dataclass(frozen=True, slots=True)
class Smoothing:
    """The forecaster; `trend` False keeps to levels (no extrapolation)."""

    trend: bool = True
    name: str = "smoothing"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """Level and damped trend of the best parameter set of each function."""
        values = batch.values[:, -WINDOW:]
        known = (~np.isnan(values)).sum(axis=1)
        sets = tuple(g for g in GRID if self.trend or g[1] == 0.0)
        run = smooth(values, sets)
        misses = _mean_miss(run.errors)
        trending = np.array([g[1] > 0 for g in sets])
        misses[trending[:, None] & (known < TREND_AFTER)[None, :]] = np.inf
        best, rows = np.argmin(misses, axis=0), np.arange(values.shape[0])
        h = np.arange(1, steps + 1, dtype=np.float64)
        damping = np.stack([np.cumsum(phi**h) for _, _, phi in sets])[best]
        mean = run.level[best, rows][:, None] + run.trend[best, rows][:, None] * damping
        mean = _within_reach(mean, values)
        widen = np.stack([spread_growth(*g, steps) for g in sets])[best]
        quantiles, p_at_least = around_mean(mean, run.errors[best, rows, -ERRORS_KEPT:], widen, levels)
        reasons = [_why(sets[b], int(k)) for b, k in zip(best, known, strict=True)]
        return sane(Said(self.name, reasons), levels, mean=mean, quantiles=quantiles, p_at_least=p_at_least)


def _within_reach(mean: FloatArray, values: FloatArray) -> FloatArray:
    """The mean, a trend upwards being followed to the largest count seen or for REACH steps, whichever is more."""
    largest = np.nan_to_num(values).max(axis=1, initial=0.0)
    reached = mean[:, : REACH + 1].max(axis=1, initial=0.0)
    bounded: FloatArray = np.minimum(mean, np.maximum(largest, reached)[:, None])
    return bounded


def _mean_miss(errors: FloatArray) -> FloatArray:
    """Mean absolute error over the last axis, 0 where nothing is known."""
    seen = (~np.isnan(errors)).sum(axis=-1)
    miss: FloatArray = np.nansum(np.abs(errors), axis=-1) / np.maximum(seen, 1)
    return miss


def spread_growth(alpha: float, beta: float, phi: float, steps: int) -> FloatArray:
    """Standard deviation h steps ahead over that of one step ahead, (steps,)."""
    j = np.arange(1, steps, dtype=np.float64)
    moved = alpha * (1.0 + beta * np.cumsum(phi**j))
    growth: FloatArray = np.sqrt(1.0 + np.concatenate([[0.0], np.cumsum(moved**2)]))
    return growth


def _why(parameters: tuple[float, float, float], known: int) -> str:
    if known == 0:
        return "no data; nothing to smooth"
    shape = "damped trend" if parameters[1] > 0 else "level"
    return f"smoothed {shape} over {known} known steps (alpha {parameters[0]:g})"


@dataclass(frozen=True, slots=True)
class SeasonalNaive:
    """Same time one season ago; the yardstick. Falls back to the newest known value without a full season."""

    season_s: int = DAY_S
    name: str = "seasonal_naive"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """Errors are the differences of the newest day to the one before."""
        lag = max(1, self.season_s // batch.step_s)
        values, n = batch.values, batch.values.shape[0]
        length = values.shape[1]
        last = _newest_known(values)
        mean = np.repeat(last[:, None], steps, axis=1)
        usable = length > lag
        if usable:
            at = length - lag + np.arange(steps) % lag
            before = values[:, at]
            mean = np.where(np.isnan(before), mean, before)
        shift = lag if usable else 1
        errors = (values[:, shift:] - values[:, :-shift])[:, -1440:] if length > shift else np.full((n, 1), np.nan)
        grown = np.ones((1, steps)) if usable else np.sqrt(np.arange(1, steps + 1))[None, :]
        quantiles, p_at_least = around_mean(mean, errors, np.broadcast_to(grown, mean.shape), levels)
        why = f"as {self.season_s} s before" if usable else "newest known value: history is shorter than a season"
        return sane(Said(self.name, why), levels, mean=mean, quantiles=quantiles, p_at_least=p_at_least)


def _newest_known(values: FloatArray) -> FloatArray:
    """The newest known value of each function, (n,), 0 where none."""
    known = ~np.isnan(values)
    if values.shape[1] == 0:
        return np.zeros(values.shape[0])
    at = values.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    newest: FloatArray = np.nan_to_num(values[np.arange(values.shape[0]), at])
    return newest
