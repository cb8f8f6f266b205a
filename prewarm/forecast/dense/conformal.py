"""Quantiles from past errors: each error in units of the spread that was expected of its moment, as a rolling sample.

Locally scaled split conformal prediction (Lei et al., JASA 2018, section 5.2) over the newest errors that were known at
the moment of the forecast, per series and horizon. The sample rolls on, so the coverage follows a drifting series;
an adaptive level (Gibbs and Candes, NeurIPS 2021, equation 2) moves the outer levels after every outcome.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.batch import Levels

SAMPLE = 2 * 1440  # newest errors kept
FEWEST = 60  # fewer errors than these are filled up with the prior's
STEP = 0.005  # how fast an adaptive level moves
NORMAL = (-2.6, -1.96, -1.28, -0.84, -0.52, -0.25, 0.0, 0.25, 0.52, 0.84, 1.28, 1.96, 2.6)


@dataclass(frozen=True, slots=True)
class Centre:
    """Forecasts of one series and horizon for N targets: median root and expected absolute error, both (N,)."""

    median: FloatArray
    spread: FloatArray


def standard_errors(root: FloatArray, centre: Centre) -> FloatArray:
    """Outcomes (N,) less their forecasts, in units of the expected error; NaN where the outcome is unknown."""
    errors: FloatArray = (root - centre.median) / centre.spread
    return errors


def sample_quantiles(errors: FloatArray, levels: FloatArray) -> FloatArray:
    """Conformal quantiles (L,) of standard errors (m,), with a normal prior where fewer than FEWEST are known.

    With m errors the outer levels are moved outwards to level (m + 1) / m.
    """
    known = errors[~np.isnan(errors)]
    if len(known) < FEWEST:
        known = np.concatenate([known, np.array(NORMAL) * 1.25])  # |z| of a normal has mean 0.8
    m = len(known)
    outward = 0.5 + (levels - 0.5) * (m + 1) / m
    found: FloatArray = np.quantile(known, np.clip(outward, 0.0, 1.0))
    return found


def rolling_quantiles(errors: FloatArray, horizon: int, first: int, levels: Levels) -> FloatArray:
    """Standard-error quantiles (N - first, L) for the targets from `first` on, each from errors `horizon` ago or older.

    errors: (N,), in time order. Per level the asked-for level is moved after every outcome that has become known.
    """
    wanted = np.asarray(levels, dtype=np.float64)
    asked = wanted.copy()
    out = np.empty((len(errors) - first, len(wanted)))
    ordered = _Window(errors[max(0, first - horizon + 1 - SAMPLE) : max(0, first - horizon + 1)])
    for at in range(first, len(errors)):
        newest = at - horizon
        if at > first and newest >= 0:
            gone = errors[newest - SAMPLE] if newest >= SAMPLE else np.nan
            ordered.roll(errors[newest], gone)
        if newest >= first:  # the forecast for `newest` was made with what was then asked
            asked = adapted(asked, wanted, errors[newest], out[newest - first])
        out[at - first] = ordered.quantiles(asked)
    return out


def adapted(asked: FloatArray, wanted: FloatArray, error: float, quantile: FloatArray) -> FloatArray:
    """The levels to ask for after one outcome; the middle ones hardly move, an unknown outcome moves none."""
    if np.isnan(error):
        return asked
    pace = STEP * np.abs(wanted - 0.5) * 2.0
    moved = asked + pace * ((error > quantile) - (1.0 - wanted))
    away = np.clip(moved, wanted - 0.5 * np.minimum(wanted, 1 - wanted), wanted + 0.8 * (1.0 - wanted))
    kept: FloatArray = np.clip(away, 0.0005, 0.9995)
    return kept


class _Window:
    """A sorted rolling sample: one value in, one out, quantiles by interpolation."""

    def __init__(self, values: FloatArray) -> None:
        self._sorted = np.sort(values[~np.isnan(values)]).tolist()

    def roll(self, new: float, gone: float) -> None:
        """Take in `new` and drop `gone`; NaN is neither."""
        from bisect import bisect_left, insort

        if not np.isnan(gone):
            del self._sorted[bisect_left(self._sorted, gone)]
        if not np.isnan(new):
            insort(self._sorted, float(new))

    def quantiles(self, levels: FloatArray) -> FloatArray:
        """As `sample_quantiles`, of values that are sorted already."""
        values = self._sorted
        if len(values) < FEWEST:
            return sample_quantiles(np.array(values, dtype=np.float64), levels)
        m = len(values)
        place = np.clip(0.5 + (levels - 0.5) * (m + 1) / m, 0.0, 1.0) * (m - 1)
        low = place.astype(np.int64)
        share = place - low
        return np.array(
            [values[i] * (1 - s) + values[min(i + 1, m - 1)] * s for i, s in zip(low.tolist(), share, strict=True)]
        )
