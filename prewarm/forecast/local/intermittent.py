"""Croston's method and its corrections, for demand that is zero most of the time, all functions at once.

Sizes and the time between calls are smoothed apart: Croston (1972); Syntetos and Boylan's correction of its bias (2005,
x (1 - alpha/2), here 0.95); Teunter, Syntetos and Babai's TSB (2011), which smooths the chance of a call at every step
and so forgets a function that has fallen silent. Unknown steps are passed over: they neither count as silence nor as
time.

Croston never forgets, so a function called once on its first minute would be forecast every minute. The forecaster
therefore takes the time since the last call as a lower bound of the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from prewarm.domain import BoolArray, FloatArray, IntArray
from prewarm.forecast.batch import ForecastBatch, Levels, Said, sane
from prewarm.forecast.distribution import newest_sizes, rare_demand
from prewarm.forecast.series import SeriesBatch

ALPHA = 0.1  # Croston's and statsforecast's default
SBA = 0.95  # 1 - ALPHA / 2

Method = Literal["croston", "sba", "tsb"]


@dataclass(frozen=True, slots=True)
class CrostonState:
    """Per function (n,): smoothed size and interval, steps since the last call, calls seen."""

    size: FloatArray
    interval: FloatArray
    age: FloatArray
    calls: FloatArray

    @property
    def rate(self) -> FloatArray:
        """Croston's forecast of the mean per step: size / interval, 0 for a function that was never called."""
        return np.where(self.calls > 0, self.size / np.maximum(self.interval, 1.0), 0.0)


def croston(values: FloatArray, alpha: float = ALPHA) -> CrostonState:
    """Croston's recursion over values (n, T), which moves only where a call is seen.

    In closed form: exponential smoothing started at its first value weighs the r-th newest of c values with
    alpha (1 - alpha)^r, the oldest with (1 - alpha)^(c - 1).
    """
    n = values.shape[0]
    row, column = np.nonzero(np.nan_to_num(values) > 0)
    clock = np.cumsum(~np.isnan(values), axis=1)  # known steps so far
    at = clock[row, column].astype(np.float64)
    first = np.append(True, row[1:] != row[:-1]) if len(row) else np.zeros(0, dtype=bool)
    interval = np.where(first, at, at - np.append(0.0, at[:-1])) if len(row) else at
    weight = _weights(row, first, alpha, n)
    calls = np.bincount(row, minlength=n).astype(np.float64)
    newest = np.zeros(n)
    np.maximum.at(newest, row, at)
    known = (~np.isnan(values)).sum(axis=1).astype(np.float64)
    return CrostonState(
        np.bincount(row, weights=weight * values[row, column], minlength=n).astype(np.float64),
        np.where(calls > 0, np.bincount(row, weights=weight * interval, minlength=n), 1.0),
        known - newest,
        calls,
    )


def _weights(row: IntArray, first: BoolArray, alpha: float, n: int) -> FloatArray:
    """Weight of each value in the end state of a smoothing per row; values of a row in order of time."""
    rank = np.searchsorted(row, np.arange(n), side="right")[row] - 1 - np.arange(len(row))
    weight: FloatArray = np.where(first, 1.0, alpha) * (1.0 - alpha) ** rank
    return weight


def tsb(values: FloatArray, alpha: float = ALPHA) -> tuple[FloatArray, FloatArray]:
    """TSB's smoothed chance of a call per step and smoothed size, (n,) each; closed form as in `croston`."""
    n = values.shape[0]
    row, column = np.nonzero(~np.isnan(values))
    first = np.append(True, row[1:] != row[:-1]) if len(row) else np.zeros(0, dtype=bool)
    called = (values[row, column] > 0).astype(np.float64)
    chance = np.bincount(row, weights=_weights(row, first, alpha, n) * called, minlength=n)
    return np.clip(chance, 0.0, 1.0), croston(values, alpha).size


@dataclass(frozen=True, slots=True)
class Intermittent:
    """The forecaster: a flat chance of a call per step, and the sizes that were seen."""

    method: Method = "tsb"
    alpha: float = ALPHA

    @property
    def name(self) -> str:
        """The method's name."""
        return self.method

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """The same distribution for every step; see the module for the bound by the time since the last call."""
        if self.method == "tsb":
            chance, size = tsb(batch.values, self.alpha)
            reasons = ["smoothed chance of a call per step" if c > 0 else "never called" for c in chance]
        else:
            state = croston(batch.values, self.alpha)
            interval = np.maximum(state.interval, state.age)
            chance = np.where(state.calls > 0, 1.0 / np.maximum(interval, 1.0), 0.0)
            chance *= SBA if self.method == "sba" else 1.0
            size = state.size
            reasons = [
                f"{int(c)} calls, one every {i:.1f} steps" if c else "never called"
                for c, i in zip(state.calls, interval, strict=True)
            ]
        flat = np.repeat(chance[:, None], steps, axis=1)
        quantiles, p_at_least = rare_demand(flat, newest_sizes(batch.values), levels)
        mean = flat * size[:, None]
        return sane(Said(self.name, reasons), levels, mean=mean, quantiles=quantiles, p_at_least=p_at_least)
