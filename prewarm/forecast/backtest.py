"""What would each model have said, and what would it have cost: rolling-origin backtest.

The past is cut at several origins. Every model sees only what lies before an origin (all of it, or the last `window`
steps) and is scored on the steps after it. Cheap models run on all functions and origins at once; a dear one is asked
only while `go_on` says there is time, and what was scored until then counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, InputError
from prewarm.forecast.batch import Forecaster, Levels
from prewarm.forecast.metrics import Costs, Scores, score
from prewarm.forecast.series import SeriesBatch

INTERVAL: Levels = (0.025, 0.5, 0.975)
FEWEST_BEFORE = 8  # known columns before the first origin
MAX_STEPS = 60

GoOn = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Plan:
    """Where to cut: `folds` origins, `steps` scored after each, the newest ending with the history.

    window None: expanding (all that is before the origin); else sliding over the last `window` steps.
    """

    steps: int = 15
    folds: int = 8
    stride: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        if min(self.steps, self.folds, self.stride or 1, self.window or 1) < 1:
            raise InputError("backtest: steps, folds, stride and window must be 1 or more")

    def origins(self, length: int) -> tuple[int, ...]:
        """Columns at which the past ends, oldest first; empty when the history is too short for any."""
        stride = self.stride or self.steps
        newest = length - self.steps
        found = [newest - stride * i for i in range(self.folds)]
        return tuple(reversed([o for o in found if o >= FEWEST_BEFORE]))

    @classmethod
    def suited(cls, length: int, steps: int, window: int | None = None) -> Plan:
        """Eight folds spread over the newer half of a history of `length`, of the steps asked for where they fit."""
        fitting = max(1, min(steps, MAX_STEPS, length // 16))
        return cls(steps=fitting, folds=8, stride=max(1, length // 16), window=window)


@dataclass(frozen=True, slots=True)
class Backtest:
    """Scores by model name, in the order asked, and the seconds of history that were scored."""

    scores: dict[str, Scores]
    span_s: float
    folds: int

    def costs(self) -> FloatArray:
        """Mean cost per function and model, (n, M), NaN where a model was not scored."""
        return np.stack([s.cost for s in self.scores.values()], axis=1)


def always(_model: str) -> bool:
    """The budget of those who are in no hurry."""
    return True


def backtest(
    batch: SeriesBatch,
    models: Sequence[Forecaster],
    plan: Plan,
    *,
    costs: Costs,
    levels: Levels = INTERVAL,
    go_on: GoOn = always,
) -> Backtest:
    """Scores of every model at every origin; `go_on(name)` is asked before each fit."""
    n, length = batch.values.shape
    origins = plan.origins(length)
    scores: dict[str, Scores] = {}
    for model in models:
        total = Scores.none(n)
        for origin in reversed(origins):  # newest first: they count even when time runs out
            if not go_on(model.name):
                break
            total = total.plus(_fold(batch, model, origin, plan=plan, costs=costs, levels=levels))
        scores[model.name] = total
    span = (length - origins[0]) * batch.step_s if origins else 0.0
    return Backtest(scores, float(span), len(origins))


def _fold(batch: SeriesBatch, model: Forecaster, origin: int, *, plan: Plan, costs: Costs, levels: Levels) -> Scores:
    """One model at one origin."""
    asked = (*levels, costs.level)
    said = model.predict(batch.until(origin, plan.window), plan.steps, asked)
    actual = batch.values[:, origin : origin + plan.steps]
    shown = said.quantiles[..., :-1]
    return score(actual, said.mean, shown, levels=levels, kept=said.quantiles[..., -1], costs=costs)
