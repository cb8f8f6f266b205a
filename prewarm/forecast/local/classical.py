"""Holt-Winters, ARIMA and seasonal ARIMA for the few functions that deserve a fit of their own.

They are dear (a tenth of a second to seconds a function), so they run in a worker, and they are picky, so most of this
module is about when not to fit: no history, a flat series, calls too rare, a season longer than half the history, zeros
under a multiplicative component. Each of these hands over to a plainer model and says which and why.

A season of 1,440 minutes cannot be fitted directly in any time worth waiting for. It is reduced: Fourier terms by least
squares over the whole history (dynamic harmonic regression: Young, Pedregal and Tych 1999), then ARIMA or a damped
trend on what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from prewarm.domain import FloatArray, InputError
from prewarm.forecast.batch import ForecastBatch, Forecaster, Levels, Said, sane
from prewarm.forecast.distribution import around_mean
from prewarm.forecast.local import fits
from prewarm.forecast.local.fits import Fit, FitError, Shape
from prewarm.forecast.local.intermittent import Intermittent
from prewarm.forecast.local.smoothing import Smoothing
from prewarm.forecast.series import SeriesBatch

Kind = Literal["holt_winters", "arima", "sarima"]
DAY_S, WEEK_S, HOUR_S = 86_400, 604_800, 3_600
FEWEST = 16  # known points before anything is fitted
RARE = 0.1  # share of steps with calls under which a series is intermittent

Budget = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the asker wants of the shape; season None: a day, if the history holds two."""

    season_steps: int | None = None
    trend: str = "add"
    seasonal: str = "add"

    def __post_init__(self) -> None:
        if self.season_steps is not None and not 2 <= self.season_steps <= 100_000:
            raise InputError(f"season_steps: must be between 2 and 100000, is {self.season_steps}")
        for field, value in (("trend", self.trend), ("seasonal", self.seasonal)):
            if value not in ("add", "mul"):
                raise InputError(f"{field}: must be add or mul, is {value[:20]!r}")


def _unlimited(_model: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Classical:
    """The forecaster; `budget(name)` is asked before each function's fit, False hands over to the plainer model."""

    kind: Kind
    wishes: Wishes = Wishes()
    budget: Budget = _unlimited

    @property
    def name(self) -> str:
        """The kind of model."""
        return self.kind

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        """One fit a function; mean and intervals clipped at zero."""
        rows = [self._one(batch.rows([row]), steps, levels) for row in range(batch.values.shape[0])]
        if not rows:
            return Smoothing().predict(batch, steps, levels)
        return ForecastBatch(
            self.name,
            levels,
            np.concatenate([r.mean for r in rows]),
            np.concatenate([r.quantiles for r in rows]),
            np.concatenate([r.p_at_least for r in rows]),
            tuple(u for r in rows for u in r.used),
            tuple(text for r in rows for text in r.reasons),
        )

    def _one(self, one: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        values = one.values[0]
        plainer = self._plainer(values)
        if plainer is not None:
            return _hand_over(*plainer, asked=(one, steps, levels))
        season, notes = self._season(values, one.step_s)
        trend, seasonal = self.wishes.trend, self.wishes.seasonal
        if "mul" in (trend, seasonal) and self.kind == "holt_winters" and np.nanmin(values) <= 0:
            trend = seasonal = "add"
            notes.append("additive instead of multiplicative because the data holds zeros")
        if not season and notes and self.wishes.season_steps is not None:
            return _hand_over(Smoothing(trend=False), notes[0], asked=(one, steps, levels))
        try:
            fit = self._fit(values, steps, one.step_s, Shape(season, trend, seasonal))
        except FitError as error:
            return _hand_over(Smoothing(), f"{self.kind}: {error}", asked=(one, steps, levels))
        return self._answer(fit, notes, levels)

    def _plainer(self, values: FloatArray) -> tuple[Forecaster, str] | None:
        """The model to hand over to, and why; None where a fit is worth it."""
        known = values[~np.isnan(values)]
        if len(known) < FEWEST:
            return Smoothing(trend=False), f"history of {len(known)} known steps is too short for {self.kind}"
        if known.max() == known.min():
            return Smoothing(trend=False), f"flat history ({known[0]:g} throughout) needs no {self.kind}"
        busy = float((known > 0).mean())
        if busy < RARE:
            return Intermittent("tsb"), f"calls in {busy:.1%} of the steps are too rare for {self.kind}"
        if not self.budget(self.kind):
            return Smoothing(), f"time budget for {self.kind} is spent"
        return None

    def _season(self, values: FloatArray, step_s: int) -> tuple[int | None, list[str]]:
        """The season in steps, None where there is none to fit, and what to say about it."""
        if self.kind == "arima":
            return None, []
        season = self.wishes.season_steps or DAY_S // step_s
        if season < 2 or len(values) < 2 * season:
            return None, [f"history of {len(values)} steps is shorter than two seasons of {season}"]
        return season, []

    def _fit(self, values: FloatArray, steps: int, step_s: int, shape: Shape) -> Fit:
        if shape.season is None or (self.kind == "holt_winters" and shape.season <= fits.SEASON_FOR_SMOOTHING):
            smooths = self.kind == "holt_winters"
            return fits.fit_holt_winters(values, steps, shape) if smooths else fits.fit_arima(values, steps)
        periods = _periods(shape.season, len(values), step_s)
        left, season = fits.without_season(values, steps, periods)
        if self.kind == "holt_winters":
            fit = fits.fit_holt_winters(left, steps, Shape(None))
        else:
            fit = fits.fit_arima(left, steps)
        note = f"reduced form: Fourier terms for periods of {', '.join(map(str, periods))} steps, then {fit.note}"
        return replace(fit, mean=fit.mean + season, note=note)

    def _answer(self, fit: Fit, notes: list[str], levels: Levels) -> ForecastBatch:
        mean = fit.mean[None, :]
        quantiles, p_at_least = around_mean(mean, fit.errors[None, :], fit.spread[None, :], levels)
        said = Said(self.name, "; ".join([*notes, fit.note]))
        return sane(said, levels, mean=mean, quantiles=quantiles, p_at_least=p_at_least)


def _periods(season: int, length: int, step_s: int) -> tuple[int, ...]:
    """Periods in steps: the season, a week and an hour where the history and the grid can show them."""
    periods = [season]
    week, hour = WEEK_S // step_s, HOUR_S // step_s
    if week > season and length >= 2 * week and WEEK_S % step_s == 0:
        periods.append(week)
    if 4 <= hour < season and HOUR_S % step_s == 0:
        periods.append(hour)
    return tuple(periods)


def _hand_over(model: Forecaster, why: str, *, asked: tuple[SeriesBatch, int, Levels]) -> ForecastBatch:
    """The plainer model's answer, with the reason it was asked."""
    answer = model.predict(*asked)
    return replace(answer, reasons=tuple(f"{why}; {model.name} instead: {r}" for r in answer.reasons))
