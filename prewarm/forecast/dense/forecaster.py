"""The dense forecaster in the shape that all forecasters share: series in, calibrated distributions out.

It speaks for series that are busy most minutes and known for ten days; for all others a plainer model does, and the
answer says which and why. It belongs in a worker: one series costs about a second. A step between the horizons that
have trees is forecast as from an earlier moment; beyond the last one the forecast is carried on from its own medians.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prewarm.domain import FloatArray, IntArray
from prewarm.forecast.batch import COUNTS, ForecastBatch, Forecaster, Levels, Said, sane
from prewarm.forecast.dense.conformal import Centre, sample_quantiles, standard_errors
from prewarm.forecast.dense.counts import chances_at_least
from prewarm.forecast.dense.features import Past
from prewarm.forecast.dense.model import DenseModel, shipped_model
from prewarm.forecast.dense.roll import NEEDED_POINTS, refit, rows_of
from prewarm.forecast.dense.root import DAY, WEEK, closed, counted, rooted, since_known
from prewarm.forecast.local.smoothing import SeasonalNaive, Smoothing
from prewarm.forecast.series import SeriesBatch

NEEDED = NEEDED_POINTS + DAY  # a refit a day ago, and that day's errors
MOST_READ = 3 * WEEK  # newest points that are looked at
BUSY_SHARE = 0.5  # of the last week's known minutes that must not be zero
GRID: Levels = tuple((np.arange(60) + 0.5) / 60)  # stands in for the whole distribution


@dataclass(frozen=True, slots=True)
class DenseForecaster:
    """Boosted medians over daily linear fits, with quantiles from the last day's errors; `model` None: the shipped."""

    model: DenseModel | None = None
    long_history: Forecaster = field(default_factory=SeasonalNaive)
    short_history: Forecaster = field(default_factory=Smoothing)
    name: str = "dense"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """The next `steps` of every series; never raises for data, works with no, one or few points."""
        whys = tuple(unsuited(row, batch.step_s) for row in batch.values)
        plain = self.long_history if batch.values.shape[1] >= 2 * DAY else self.short_history
        answer = plain.predict(batch, steps, levels)
        mean, quantiles, chances = answer.mean.copy(), answer.quantiles.copy(), answer.p_at_least.copy()
        used, reasons = list(answer.used), list(answer.reasons)
        for row, why in enumerate(whys):
            if why:
                reasons[row] = f"{self.name} not used: {why}; {reasons[row]}"
                continue
            mean[row], quantiles[row], chances[row] = self._row(batch.values[row], steps, levels)
            used[row] = self.name
            reasons[row] = "busy every minute: day and hour pattern with boosted corrections, errors of the last day"
        return sane(Said(self.name, reasons, used), levels, mean=mean, quantiles=quantiles, p_at_least=chances)

    def _model(self) -> DenseModel:
        return shipped_model() if self.model is None else self.model

    def _row(self, values: FloatArray, steps: int, levels: Levels) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean (steps,), quantiles (steps, L) and P(N >= k) (steps, K) of one suited series."""
        model, newest = self._model(), _newest(values)
        root = rooted(closed(newest))
        outcome = np.where(np.isnan(newest), np.nan, root)
        errors = last_day_errors(model, root, outcome)
        wanted = np.concatenate([np.asarray(levels, dtype=np.float64), GRID])
        ahead = _ahead(model, root, steps)
        drawn = np.empty((steps, len(wanted)))
        for horizon, found in errors.items():
            of = ahead.horizon == horizon
            at = sample_quantiles(found, wanted)
            drawn[of] = counted(ahead.centre.median[of, None] + ahead.centre.spread[of, None] * at)
        grid = np.sort(drawn[:, len(levels) :], axis=1)
        return grid.mean(axis=1), drawn[:, : len(levels)], chances_at_least(grid, GRID, COUNTS)


def unsuited(values: FloatArray, step_s: int) -> str | None:
    """Why the dense forecaster does not speak for this series (T,); None where it does."""
    known = since_known(values)
    if step_s != 60:
        return f"needs steps of 60 s, has {step_s} s"
    if len(known) < NEEDED:
        return f"needs {NEEDED // DAY} days of minutes, has {len(known)}"
    week = known[-WEEK:]
    seen = ~np.isnan(week)
    if seen.sum() < WEEK // 2:
        return "more than half of the last week is unknown"
    if (week[seen] > 0).mean() < BUSY_SHARE:
        return "idle in more than half of the minutes"
    return None


def _newest(values: FloatArray) -> FloatArray:
    """At most MOST_READ newest points, the first of them known."""
    return since_known(values[-MOST_READ:])


def last_day_errors(model: DenseModel, root: FloatArray, outcome: FloatArray) -> dict[int, FloatArray]:
    """Standard errors (1440,) of the last day by horizon, forecast with a refit from before it."""
    past, first = Past.of(root), len(root) - DAY
    known = refit(past, first, tuple(model.layers))
    targets = np.arange(first, len(root))
    return {
        horizon: standard_errors(outcome[first:], layer.centre(rows_of(past, known, targets, horizon)))
        for horizon, layer in model.layers.items()
    }


@dataclass(frozen=True, slots=True)
class _Ahead:
    centre: Centre
    horizon: IntArray  # the model that spoke for each step


def _ahead(model: DenseModel, root: FloatArray, steps: int) -> _Ahead:
    """Centres of the coming steps, in chunks of the longest horizon, each chunk carried on from the one before."""
    horizons = sorted(model.layers)
    known = refit(Past.of(root), len(root), tuple(horizons))
    medians, spreads, spoke = np.empty(steps), np.empty(steps), np.empty(steps, dtype=np.int64)
    done, grown = 0, root
    while done < steps:
        chunk = min(steps - done, horizons[-1])
        past = Past.of(np.concatenate([grown, np.repeat(grown[-1:], horizons[-1])]))  # room for targets; never read
        for horizon, below in zip(horizons, [0, *horizons], strict=False):
            ahead = np.arange(below, min(horizon, chunk))
            if not len(ahead):
                continue
            centre = model.layers[horizon].centre(rows_of(past, known, len(grown) + ahead, horizon))
            medians[done + ahead], spreads[done + ahead], spoke[done + ahead] = centre.median, centre.spread, horizon
        grown = np.concatenate([grown, medians[done : done + chunk]])
        done += chunk
    return _Ahead(Centre(medians, spreads), spoke)
