"""The level model's chances for the next quarter of an hour, laid over what another forecaster says.

The model that decides knows more of the coming minutes than any model of one function alone: on the hundred public apps
its chances of a call 2 to 15 minutes ahead have a Brier score of 0.030 where the backtest's choice has 0.040. It counts
levels one by one, so it speaks for functions of few instances; all else is left to the other. Worker processes only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from prewarm.domain import BoolArray, Float32Array, FloatArray, Int32Array, IntArray
from prewarm.forecast.batch import ForecastBatch, Forecaster, Levels
from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.forecast.series import SeriesBatch

if TYPE_CHECKING:
    from prewarm.forecast.levels.boosted import LevelModel

LONGEST = 15  # minutes; the trees were trained for so many
WINDOW = 1_440  # newest minutes that are looked at
MOST_LEVELS = 20
NOTE = f"the next {LONGEST} minutes by the level model"


@dataclass(frozen=True, slots=True)
class NearByLevels:
    """`beyond` for every step, with the level model's word on the first `LONGEST` where it has one."""

    beyond: Forecaster

    @property
    def name(self) -> str:
        """The other forecaster's: it is the one that was chosen."""
        return self.beyond.name

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """What `beyond` says, nearer minutes replaced; series of another step or of many instances stay as they are."""
        answer = self.beyond.predict(batch, steps, levels)
        needs = np.ceil(batch.values[:, -WINDOW:])
        highest = np.nan_to_num(needs).max(axis=1, initial=0.0)
        rows = np.flatnonzero((highest >= 1) & (highest <= MOST_LEVELS)) if batch.step_s == 60 else np.zeros(0, np.intp)
        if not len(rows):
            return answer
        near = min(steps, LONGEST)
        p = _chances(history_of(needs[rows]), near)
        mean, quantiles, chances = answer.mean.copy(), answer.quantiles.copy(), answer.p_at_least.copy()
        mean[rows, :near] = p.sum(axis=2)
        short_of = 1.0 - np.asarray(levels, dtype=np.float64)
        quantiles[rows, :near] = (p[..., None, :] > short_of[:, None]).sum(axis=3)
        most = min(p.shape[2], chances.shape[2])
        chances[rows, :near] = 0.0
        chances[rows, :near, :most] = p[..., :most]
        reasons = list(answer.reasons)
        for row in rows:
            reasons[row] = f"{reasons[row]}; {NOTE}"
        return replace(answer, mean=mean, quantiles=quantiles, p_at_least=chances, reasons=tuple(reasons))


def history_of(needs: FloatArray) -> SparseHistory:
    """Needs (n, T), NaN unknown, as a history that ends where they end."""
    row, minute = np.nonzero(np.nan_to_num(needs) > 0)
    known: BoolArray = ~np.isnan(needs)
    since = np.where(known.any(axis=1), known.argmax(axis=1), needs.shape[1]).astype(np.int32)
    pointer: IntArray = np.searchsorted(row, np.arange(len(needs) + 1)).astype(np.int64)
    need = needs[row, minute].astype(np.int16)
    return SparseHistory(minute.astype(np.int32), need, pointer, since, needs.shape[1])


def _chances(history: SparseHistory, minutes: int) -> FloatArray:
    """P(N >= level) for the next minutes, (n, minutes, levels), 0 for levels that nobody asked about."""
    from prewarm.forecast.levels.features import Questions, open_questions

    one = open_questions(history)
    size = one.row.size
    row, level, now = (np.tile(column, minutes) for column in (one.row, one.level, one.now))
    ahead: Int32Array = np.repeat(np.arange(minutes, dtype=np.int32), size)
    said: Float32Array = _model().chances_ahead(history, Questions(row, level, now, ahead))
    p = np.zeros((history.rows, minutes, int(one.level.max(initial=1))))
    p[row, ahead, level - 1] = said
    return p


@cache
def _model() -> LevelModel:
    from prewarm.forecast.levels.boosted import LevelModel

    return LevelModel.load()
