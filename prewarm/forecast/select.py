"""Which model speaks for which function: the one with the lowest backtest cost, without hopping about.

A function changes its model only when another was cheaper by a set share in several rounds running; noise in a
backtest would otherwise make the forecasts, and the pools after them, jump. A model that can no longer be scored loses
its functions at once.
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


@dataclass(frozen=True, slots=True)
class Hysteresis:
    """A switch needs a cost lower by `better_by` (share) in `rounds` consecutive rounds."""

    better_by: float = 0.05
    rounds: int = 3


@dataclass(frozen=True, slots=True)
class Selection:
    """Per function (n,): chosen model, the one that challenges it (-1: none) and for how many rounds it has.

    `costs` (n, M) are those of the newest round, `span_s` the history they were measured on.
    """

    models: tuple[str, ...]
    chosen: IntArray
    challenger: IntArray
    streak: IntArray
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
        return (
            f"kept: {self.models[cheapest]} cost {less:.0%} less over the last {span}, "
            f"not yet enough for a change (round {int(self.streak[row])})"
        )


def span_text(span_s: float) -> str:
    """A stretch of time for people: 7 days, 12 hours, 45 minutes."""
    for unit, name in ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute")):
        if span_s >= 2 * unit or (span_s >= unit and name == "minute"):
            count = round(span_s / unit)
            return f"{count} {name}{'s' if count != 1 else ''}"
    return f"{round(span_s)} seconds"


def select(models: Sequence[str], costs: FloatArray, span_s: float, *, unscored: int = 0) -> Selection:
    """The first selection: the cheapest model of each, the earlier of equals, `unscored` where no model has a score."""
    filled = np.where(np.isnan(costs), np.inf, costs)
    n = costs.shape[0]
    chosen = np.where(np.isfinite(filled).any(axis=1), np.argmin(filled, axis=1), unscored).astype(np.int64)
    return Selection(tuple(models), chosen, np.full(n, -1), np.zeros(n, dtype=np.int64), costs, span_s)


def reselect(before: Selection, costs: FloatArray, span_s: float, *, rule: Hysteresis | None = None) -> Selection:
    """The next round for the same functions and models; a round without any score changes nothing."""
    rule = rule or Hysteresis()
    rows = np.arange(len(before.chosen))
    filled = np.where(np.isnan(costs), np.inf, costs)
    best = np.argmin(filled, axis=1).astype(np.int64)
    mine, lowest = filled[rows, before.chosen], filled[rows, best]
    gone = np.isinf(mine) & np.isfinite(lowest)
    challenged = (lowest < mine * (1.0 - rule.better_by)) & np.isfinite(lowest) & ~gone
    again = challenged & (best == before.challenger)
    streak = np.where(challenged, np.where(again, before.streak + 1, 1), 0)
    switch = gone | (streak >= rule.rounds)
    return Selection(
        before.models,
        np.where(switch, best, before.chosen),
        np.where(challenged & ~switch, best, -1),
        np.where(switch, 0, streak),
        costs,
        span_s,
    )


@dataclass(frozen=True, slots=True)
class Auto:
    """A forecaster that picks among others by their backtest on the history it is given, and calibrates the picked."""

    models: tuple[Forecaster, ...]
    costs: Costs = field(default_factory=Costs)
    window: int | None = None
    unscored: int = 0
    name: str = "auto"

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """Each function by its cheapest model, by number `unscored` where the history is too short for a backtest."""
        plan = Plan.suited(batch.values.shape[1], steps, self.window)
        tested = backtest(batch, self.models, plan, costs=self.costs)
        selection = select([m.name for m in self.models], tested.costs(), tested.span_s, unscored=self.unscored)
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
