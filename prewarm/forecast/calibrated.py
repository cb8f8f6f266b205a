"""A forecaster whose quantiles and chances are corrected by how its own earlier ones turned out.

At the origins of a plan the model is asked what it would have said. The quantiles of each dense function are shifted by
its own misses (split conformal); the chances of a call are mapped by one logistic curve for all functions, since one
function alone has too few outcomes. Rare demand keeps its quantiles: a shift makes no sense where nearly all of them
are zero. Where there are too few outcomes nothing is changed, and nothing is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prewarm.domain import BoolArray, FloatArray
from prewarm.forecast.backtest import Plan
from prewarm.forecast.batch import ForecastBatch, Forecaster, Levels
from prewarm.forecast.calibration import Logistic, conformal_shifts, shifted
from prewarm.forecast.series import SeriesBatch

FEWEST_OWN = 40  # outcomes of a function before its quantiles are shifted
FEWEST_ALL = 1_000  # outcomes of all functions, and calls among them, before chances are mapped
FEWEST_CALLS = 50
DENSE = 0.5  # share of steps with calls from which a function is dense


@dataclass(frozen=True, slots=True)
class Calibrated:
    """`inner`, corrected by its outcomes at the origins of `plan`; it keeps the name and the reasons."""

    inner: Forecaster
    plan: Plan

    @property
    def name(self) -> str:
        """The inner model's name: it is the same model, only more honest."""
        return self.inner.name

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """What `inner` says, corrected."""
        answer = self.inner.predict(batch, steps, levels)
        origins = self.plan.origins(batch.values.shape[1])
        outcomes = len(origins) * self.plan.steps
        dense = _dense(batch.values) & (outcomes >= FEWEST_OWN)
        if outcomes * len(batch.names) >= FEWEST_ALL:
            asked = np.ones(len(batch.names), dtype=bool)
        elif dense.any():
            asked = dense
        else:
            return answer
        rows = np.flatnonzero(asked)
        actual, quantiles, chances = self._replayed(batch.rows(rows.tolist()), origins, levels)
        answer = _mapped(answer, chances, actual)
        moved = answer.quantiles.copy()
        for place, row in enumerate(rows):
            if dense[row]:
                shifts = conformal_shifts(actual[place], quantiles[place], levels)
                moved[row] = shifted(moved[row], shifts, levels)
        return replace(answer, quantiles=moved)

    def _replayed(
        self, batch: SeriesBatch, origins: tuple[int, ...], levels: Levels
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Outcomes (n, F), quantiles (n, F, L) and chances of a call (n, F) of all steps after all origins."""
        said = [self.inner.predict(batch.until(o, self.plan.window), self.plan.steps, levels) for o in origins]
        actual = [batch.values[:, origin : origin + self.plan.steps] for origin in origins]
        return (
            np.concatenate(actual, axis=1),
            np.concatenate([one.quantiles for one in said], axis=1),
            np.concatenate([one.p_at_least[..., 0] for one in said], axis=1),
        )


def _dense(values: FloatArray) -> BoolArray:
    known = (~np.isnan(values)).sum(axis=1)
    busy = (np.nan_to_num(values) > 0).sum(axis=1) >= DENSE * np.maximum(known, 1)
    dense: BoolArray = busy & (known > 0)
    return dense


def _mapped(answer: ForecastBatch, chances: FloatArray, actual: FloatArray) -> ForecastBatch:
    """Chances mapped by the logistic curve of all outcomes; impossible and certain ones stay as they are."""
    known = ~np.isnan(actual) & (chances > 0) & (chances < 1)
    happened = actual[known] >= 0.5
    calls = int(happened.sum())
    if known.sum() < FEWEST_ALL or min(calls, int(known.sum()) - calls) < FEWEST_CALLS:
        return answer
    curve = Logistic.fit(chances[known], happened)
    open_ended = (answer.p_at_least > 0) & (answer.p_at_least < 1)
    mapped = np.where(open_ended, curve(answer.p_at_least), answer.p_at_least)
    return replace(answer, p_at_least=np.minimum.accumulate(mapped, axis=-1))
