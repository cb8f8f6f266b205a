"""What the boosted model reads of one series at one moment, free of the series' scale.

Everything is a distance in units of the series' own recent error from a robust weekly profile of the target minute, so
that a model trained on five regions applies to a sixth of another size. A row for target u at horizon h reads nothing
later than u - h. Rows are built for many targets at once; `Past` holds the running sums that make this cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import Float32Array, FloatArray, IntArray
from prewarm.forecast.dense.root import DAY, WEEK

Columns = dict[str, FloatArray]

DAYS = np.arange(1, 8) * DAY
SIZED = ("e", "dow", "s7", "hs6")  # columns that are differences already: only divided by the scale
LEAST_SCALE = 0.05


@dataclass(frozen=True, slots=True)
class Past:
    """One series with its weekly-profile residual and running sums; (T,) and (T + 1,)."""

    root: FloatArray
    residual: FloatArray  # 0 in the first week, where there is no profile yet
    root_sum: FloatArray
    residual_sum: FloatArray
    miss_sum: FloatArray

    @classmethod
    def of(cls, root: FloatArray) -> Past:
        """From roots (T,) without gaps."""
        residual = np.zeros(len(root))
        if len(root) > WEEK:
            at = np.arange(WEEK, len(root))
            residual[at] = root[at] - week_profile(root, at)
        return cls(root, residual, _running(root), _running(residual), _running(np.abs(residual)))


@dataclass(frozen=True, slots=True)
class Rows:
    """Feature rows (N, F) in float32 and, per row, the profile (N,) and scale (N,) that undo the normalisation."""

    names: tuple[str, ...]
    values: Float32Array
    profile: FloatArray
    scale: FloatArray


def week_profile(root: FloatArray, targets: IntArray) -> FloatArray:
    """Half mean, half median of the same minute on the last seven days."""
    week = root[targets[:, None] - DAYS]
    profile: FloatArray = 0.5 * np.median(week, axis=1) + 0.5 * week.mean(axis=1)
    return profile


def feature_rows(
    past: Past, targets: IntArray, horizon: int, *, linear: Columns, periods: tuple[int, ...], combs: int
) -> Rows:
    """Rows for `targets` (N,) ascending; `linear`: what the daily fits say; `combs` column pairs, 0 where no period."""
    columns = _days(past, targets)
    columns |= _hours(past.root, targets, horizon)
    columns |= _cycles(past.root, targets, horizon)
    columns |= _recent(past, targets - horizon)
    columns |= _misses(past, targets, targets - horizon)
    columns |= _combs(past, targets, horizon, periods=periods, combs=combs)
    return _normalised(columns | linear)


def _normalised(columns: Columns) -> Rows:
    profile, level = columns["profile"], columns["recent1440"]
    scale = np.maximum(columns["ea1440"], LEAST_SCALE)
    scaled: Columns = {}
    for name, column in columns.items():
        if name == "profile":
            scaled[name] = (profile - level) / scale
        elif name.startswith(SIZED):
            scaled[name] = column / scale
        else:
            scaled[name] = (column - profile) / scale
    scaled |= {"level": level, "scale": scale}
    values = np.stack(list(scaled.values()), axis=1).astype(np.float32)
    return Rows(tuple(scaled), values, profile, scale)


def _running(values: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(values)])


def _mean(running: FloatArray, last: IntArray, length: int) -> FloatArray:
    """Mean of the `length` values that end at `last`."""
    mean: FloatArray = (running[last + 1] - running[last + 1 - length]) / length
    return mean


def _at(values: FloatArray, targets: IntArray, lags: IntArray) -> FloatArray:
    found: FloatArray = values[targets[:, None] - lags]
    return found


def _days(past: Past, targets: IntArray) -> Columns:
    """The same minute, its neighbours and its surroundings on the last seven days."""
    root, week = past.root, _at(past.root, targets, DAYS)
    mean, median = week.mean(axis=1), np.median(week, axis=1)
    columns = {"profile": 0.5 * (median + mean)} | {f"d{day + 1}": week[:, day] for day in range(7)}
    columns |= {"dm3": week[:, :3].mean(axis=1), "dmd5": np.median(week[:, :5], axis=1), "dm7": mean, "dmd7": median}
    columns |= {"s7": week.std(axis=1), "dlow": week.min(axis=1), "dhigh": week.max(axis=1)}
    columns |= {f"dn{off}": _at(root, targets + off, DAYS).mean(axis=1) for off in (-3, -2, -1, 1, 2, 3)}
    columns["dn_peak"] = np.maximum(root[targets - DAY - 1], root[targets - DAY + 1])
    for half, name in ((7, "around15"), (30, "around61")):
        near = np.stack([_mean(past.root_sum, targets - lag + half, 2 * half + 1) for lag in DAYS], axis=1)
        columns[name] = near.mean(axis=1)
    columns |= {f"around61_{k}": _mean(past.root_sum, targets - k * DAY + 30, 61) for k in (1, 7)}
    return columns


def _hours(root: FloatArray, targets: IntArray, horizon: int) -> Columns:
    """The same minute of the last hours, and the minutes beside it; for horizons up to an hour."""
    day = _at(root, targets, 60 * np.arange(1, 25))
    columns = {f"h{k}": day[:, k - 1] for k in range(1, 7)}
    columns |= {f"hm{n}": day[:, :n].mean(axis=1) for n in (3, 6, 12, 24)}
    columns |= {"hmd6": np.median(day[:, :6], axis=1), "hmd24": np.median(day, axis=1), "hs6": day[:, :6].std(axis=1)}
    columns["hm168"] = _at(root, targets, 60 * np.arange(1, 169)).mean(axis=1)
    columns["hn-1"] = _at(root, targets - 1, 60 * np.arange(1, 7)).mean(axis=1)
    first = 1 if horizon < 60 else 2  # the minute after the target an hour ago is not known an hour ahead
    columns["hn1"] = _at(root, targets + 1, 60 * np.arange(first, first + 6)).mean(axis=1)
    return columns


def _cycles(root: FloatArray, targets: IntArray, horizon: int) -> Columns:
    """The same phase of short timers over the last four hours, as far as it is known at the horizon."""
    columns: Columns = {}
    for period in (5, 10, 15, 30):
        known = np.arange(-(-horizon // period), 240 // period + 1) * period
        seen = _at(root, targets, known)
        columns |= {f"p{period}": seen.mean(axis=1), f"p{period}_last": seen[:, 0]}
        columns[f"p{period}_md8"] = np.median(seen[:, :8], axis=1)
    return columns


def _recent(past: Past, now: IntArray) -> Columns:
    """The newest minutes and levels."""
    newest = _at(past.root, now, np.arange(30))
    columns = {f"r{k}": newest[:, k] for k in range(10)}
    columns |= {f"recent{n}": _mean(past.root_sum, now, n) for n in (3, 5, 10, 15, 30, 60, 180, 360, 1440)}
    columns |= {f"rmd{n}": np.median(newest[:, :n], axis=1) for n in (5, 10, 30)}
    return columns


def _misses(past: Past, targets: IntArray, now: IntArray) -> Columns:
    """How far reality has lately been from the weekly profile, and how far days are apart."""
    columns = {f"e{k}": past.residual[now - k] for k in range(6)}
    columns |= {f"em{n}": _mean(past.residual_sum, now, n) for n in (3, 5, 10, 15, 30, 60, 120, 240, 720, 1440)}
    columns |= {f"ea{n}": _mean(past.miss_sum, now, n) for n in (10, 60, 1440)}
    columns |= {f"eh{k}": past.residual[targets - 60 * k] for k in (1, 2, 3)}
    columns["ed1"] = past.residual[targets - DAY]
    columns["ed1m"] = _mean(past.residual_sum, targets - DAY + 30, 61)
    week_ago = _mean(past.root_sum, now - WEEK, 60)
    columns["dow"] = _mean(past.root_sum, now, 60) - week_ago
    columns["dow1"] = _mean(past.root_sum, now - DAY, 60) - week_ago
    return columns


def _combs(past: Past, targets: IntArray, horizon: int, *, periods: tuple[int, ...], combs: int) -> Columns:
    """Mean residual at the same phase of the found periods, over few and over many cycles."""
    columns: Columns = {}
    for number in range(combs):
        for cycles in (12, 48):
            mean = np.zeros(len(targets))
            if number < len(periods) and len(targets):
                period = periods[number]
                first = -(-horizon // period)
                known = min(cycles, (int(targets[0]) - WEEK) // period - first)
                if known > 0:
                    mean = _at(past.residual, targets, period * (first + np.arange(known))).mean(axis=1)
            columns[f"ecomb{number}_{cycles}"] = mean
    return columns
