"""Which model speaks for which function: the one with the lowest backtest cost, without hopping about.

A function that has a model changes it only when another is cheaper by a set share; noise in a backtest would otherwise
make its forecasts jump. A model that can no longer be scored loses its functions at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from prewarm.domain import FloatArray, IntArray
from prewarm.forecast.backtest import Plan, backtest
from prewarm.forecast.batch import ForecastBatch, Forecaster, Levels
from prewarm.forecast.calibrated import Calibrated
from prewarm.forecast.metrics import Costs
from prewarm.forecast.series import SeriesBatch

BETTER_BY = 0.05  # share of its cost by which a challenger must be cheaper


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen model per function (n,), by costs (n, M) measured on `span_s` seconds of history."""

    models: tuple[str, ...]
    chosen: IntArray
    costs: FloatArray
    span_s: float

    def reasons(self) -> tuple[str, ...]:
        """Why each function has the model it has, for people."""
        return tuple(self._why(row) for row in range(len(self.chosen)))

    def _why(self, row: int) -> str:
        costs = self.costs[row]
        scored = int((~np.isnan(costs)).sum())
        if scored == 0:
            return "too little history for a backtest"
        span = span_text(self.span_s)
        cheapest = int(np.nanargmin(costs))
        mine = costs[self.chosen[row]]
        if np.isnan(mine) or costs[cheapest] >= mine:
            return f"lowest backtest cost of {scored} models over the last {span}"
        less = 1.0 - costs[cheapest] / mine
        return f"kept: {self.models[cheapest]} cost {less:.0%} less over the last {span}, not enough for a change"


def span_text(span_s: float) -> str:
    """A stretch of time for people: 7 days, 12 hours, 45 minutes."""
    for unit, name in ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute")):
        if span_s >= 2 * unit or (span_s >= unit and name == "minute"):
            count = round(span_s / unit)
            return f"{count} {name}{'s' if count != 1 else ''}"
    return f"{round(span_s)} seconds"


def select(
    models: Sequence[str], costs: FloatArray, span_s: float, *, unscored: int = 0, incumbent: str | None = None
) -> Selection:
    """The cheapest model of each function, the earlier of equals; `unscored` where no model has a score.

    The `incumbent`, by whom the functions were forecast so far, stays unless another is cheaper by `BETTER_BY`.
    """
    filled = np.where(np.isnan(costs), np.inf, costs)
    chosen, scored = np.argmin(filled, axis=1), np.isfinite(filled).any(axis=1)
    first = unscored
    if incumbent in models:
        first = models.index(incumbent)
        kept = filled.min(axis=1) >= filled[:, first] * (1.0 - BETTER_BY)
        chosen = np.where(kept, first, chosen)
    return Selection(tuple(models), np.where(scored, chosen, first).astype(np.int64), costs, span_s)


@dataclass(frozen=True, slots=True)
class Auto:
    """A forecaster that picks among others by their backtest on the history it is given, and calibrates the picked."""

    models: tuple[Forecaster, ...]
    costs: Costs = field(default_factory=Costs)
    window: int | None = None
    unscored: int = 0
    incumbent: str | None = None
    name: str = "auto"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """Each function by its cheapest model, by number `unscored` where the history is too short for a backtest."""
        plan = Plan.suited(batch.values.shape[1], steps, self.window)
        tested = backtest(batch, self.models, plan, costs=self.costs)
        names = [model.name for model in self.models]
        selection = select(names, tested.costs(), tested.span_s, unscored=self.unscored, incumbent=self.incumbent)
        honest = [Calibrated(model, plan) for model in self.models]
        return chosen_forecasts(batch, honest, selection, steps=steps, levels=levels)


def chosen_forecasts(
    batch: SeriesBatch, models: Sequence[Forecaster], selection: Selection, *, steps: int, levels: Levels
) -> ForecastBatch:
    """Every function forecast by its chosen model; the reason says why it was chosen, then what the model says."""
    n = batch.values.shape[0]
    why = selection.reasons()
    parts: list[tuple[IntArray, ForecastBatch]] = []
    for number, model in enumerate(models):
        rows = np.flatnonzero(selection.chosen == number)
        if len(rows):
            parts.append((rows, model.predict(batch.rows(rows.tolist()), steps, levels)))
    if not parts:
        return models[0].predict(batch, steps, levels)
    place = np.argsort(np.concatenate([rows for rows, _ in parts]))
    used = [u for _, part in parts for u in part.used]
    reasons = [r for _, part in parts for r in part.reasons]
    return ForecastBatch(
        "auto",
        levels,
        np.concatenate([part.mean for _, part in parts])[place],
        np.concatenate([part.quantiles for _, part in parts])[place],
        np.concatenate([part.p_at_least for _, part in parts])[place],
        tuple(used[place[row]] for row in range(n)),
        tuple(f"{why[row]}; {reasons[place[row]]}" for row in range(n)),
    )
