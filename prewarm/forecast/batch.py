"""The one shape in which every forecaster answers, and the protocol that they share.

An answer is only let out sane: finite, never negative, quantiles rising with their level, P(N >= k) falling with k.
Whoever sizes pools from it then has nothing left to check. `used` names per function the model that really spoke (a
seasonal model asked about ninety points hands over to a plainer one) and `reasons` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from prewarm.domain import DataState, FloatArray, Forecast, FunctionKey
from prewarm.forecast.series import SeriesBatch

COUNTS = 4  # P(N >= k) is given for k = 1..COUNTS; larger needs are read off the quantiles
CEILING = 1e15  # no count is larger; keeps every sum of forecasts finite

Levels = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ForecastBatch:
    """Forecasts of n functions for H steps.

    mean (n, H); quantiles (n, H, L) for `levels`; p_at_least (n, H, K), column k-1 being P(N >= k).
    """

    model: str
    levels: Levels
    mean: FloatArray
    quantiles: FloatArray
    p_at_least: FloatArray
    used: tuple[str, ...]
    reasons: tuple[str, ...]

    def rows(self, chosen: Sequence[int]) -> ForecastBatch:
        """The forecasts at the given positions."""
        picked = list(chosen)
        return replace(
            self,
            mean=self.mean[picked],
            quantiles=self.quantiles[picked],
            p_at_least=self.p_at_least[picked],
            used=tuple(self.used[i] for i in picked),
            reasons=tuple(self.reasons[i] for i in picked),
        )


class Forecaster(Protocol):
    """One question: what comes in the next steps, given this past?"""

    @property
    def name(self) -> str:
        """The name under which it is chosen, logged and shown."""
        ...

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """The next `steps` steps of every function; works with no, one or few points and never raises for data."""
        ...


@dataclass(frozen=True, slots=True)
class Said:
    """Who speaks and why, before the numbers are checked: one text per function, or one for all."""

    model: str
    reasons: str | Sequence[str]
    used: str | Sequence[str] | None = None


def sane(
    said: Said, levels: Levels, *, mean: FloatArray, quantiles: FloatArray, p_at_least: FloatArray
) -> ForecastBatch:
    """The numbers as a batch that keeps every promise of the module; what is not finite falls to zero or CEILING."""
    n = mean.shape[0]
    order = np.argsort(np.asarray(levels), kind="stable")
    rising = np.empty(quantiles.shape)
    rising[..., order] = np.maximum.accumulate(_finite(quantiles)[..., order], axis=-1)
    chances = np.minimum(np.nan_to_num(p_at_least, nan=0.0), 1.0).clip(min=0.0)
    used = said.model if said.used is None else said.used
    return ForecastBatch(
        said.model,
        levels,
        _finite(mean),
        rising,
        np.minimum.accumulate(chances, axis=-1),
        (used,) * n if isinstance(used, str) else tuple(used),
        (said.reasons,) * n if isinstance(said.reasons, str) else tuple(said.reasons),
    )


def _finite(values: FloatArray) -> FloatArray:
    return np.nan_to_num(values, nan=0.0, posinf=CEILING, neginf=0.0).clip(min=0.0, max=CEILING)


def data_state(values: FloatArray) -> DataState:
    """What is known of one series: nothing, all of it, parts of it, or not its newest tenth (stale)."""
    known = ~np.isnan(values)
    if not known.any():
        return DataState.NONE
    newest = max(1, len(values) // 10)
    if not known[-newest:].any():
        return DataState.STALE
    return DataState.OK if known.all() else DataState.PARTIAL


def forecasts(answer: ForecastBatch, batch: SeriesBatch, issued_at: float | None = None) -> Iterator[Forecast]:
    """The batch as values for decisions and the API, one per function.

    The outermost quantiles are widened to hold the mean, so that a reader never sees a mean above its upper bound (a
    rare call has a mean above most of its quantiles).
    """
    levels = np.asarray(answer.levels)
    for row, name in enumerate(batch.names):
        quantiles, mean = answer.quantiles[row].copy(), answer.mean[row]
        if len(levels) and levels.max() > 0.5:
            top = levels == levels.max()
            quantiles[:, top] = np.maximum(quantiles[:, top], mean[:, None])
        if len(levels) and levels.min() < 0.5:
            low = levels == levels.min()
            quantiles[:, low] = np.minimum(quantiles[:, low], mean[:, None])
        yield Forecast(
            FunctionKey(name),
            batch.end if issued_at is None else issued_at,
            batch.step_s,
            answer.used[row],
            answer.reasons[row],
            data_state(batch.values[row]),
            answer.levels,
            mean,
            quantiles,
            answer.p_at_least[row],
        )
