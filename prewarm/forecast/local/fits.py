"""The statsmodels fits: numbers in, numbers out, nothing heavier than the settings below.

Imported by workers only, and statsmodels itself on the first fit: it costs seconds and 150 MiB. Numeric warnings of an
optimiser that gropes about are its own business and stay inside; what fails to fit says so by FitError.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from prewarm.domain import FloatArray, PrewarmError
from prewarm.forecast.local.smoothing import spread_growth

NEWEST = 1_440  # points that a state-space or smoothing fit is given; more cost time and say little
ORDERS = ((1, 0), (1, 1), (2, 1))  # (p, q), chosen by AIC
RANDOM_WALK = 0.95  # first autocorrelation from which differences are modelled
HARMONICS = 6
SEASON_FOR_SMOOTHING = 168  # longest season that is smoothed state by state; a longer one is taken out beforehand


class FitError(PrewarmError):
    """A model that could not be fitted to this series; the text says why."""


@dataclass(frozen=True, slots=True)
class Fit:
    """mean (H,) not yet clipped, spread (H,): standard deviation over that of step one, errors (m,) one step ahead."""

    mean: FloatArray
    spread: FloatArray
    errors: FloatArray
    note: str


@dataclass(frozen=True, slots=True)
class Shape:
    """Components of Holt-Winters: season in steps (None: none), each component additive ("add") or "mul"."""

    season: int | None
    trend: str = "add"
    seasonal: str = "add"


@contextmanager
def _quiet() -> Iterator[None]:
    """No numeric warning leaves; what an optimiser throws for odd data becomes FitError."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            yield
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, IndexError) as error:
            said = " ".join(str(error).split())[:80]
            raise FitError(f"no fit ({type(error).__name__}: {said})") from error


def filled(values: FloatArray) -> FloatArray:
    """Unknown steps bridged by straight lines, for models that cannot pass over them."""
    known = np.flatnonzero(~np.isnan(values))
    return np.interp(np.arange(len(values)), known, values[known])


def fit_holt_winters(values: FloatArray, steps: int, shape: Shape) -> Fit:
    """Holt-Winters with damped trend (Winters 1960; damping after Gardner and McKenzie 1985)."""
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    newest = values[-max(NEWEST, 3 * (shape.season or 0)) :]
    with _quiet():
        model = ExponentialSmoothing(
            filled(newest),
            trend=shape.trend,
            damped_trend=True,
            seasonal=shape.seasonal if shape.season else None,
            seasonal_periods=shape.season,
            initialization_method="heuristic" if shape.season else "estimated",
        )
        result = model.fit(optimized=True)
        mean = np.asarray(result.forecast(steps), dtype=np.float64)
        errors = np.asarray(result.resid, dtype=np.float64)
        parameters = result.params
    spread = _spread(parameters, steps, shape.season)
    season = f", season {shape.season}" if shape.season else ", no season"
    return _checked(Fit(mean, spread, errors, f"damped {_word(shape.trend)} trend{season}"))


def _word(component: str) -> str:
    return {"add": "additive", "mul": "multiplicative"}[component]


def _spread(parameters: dict[str, float], steps: int, season: int | None) -> FloatArray:
    """Growth of the error with the horizon, additive class (Hyndman et al. 2008, table 6.1)."""

    def value(key: str) -> float:
        found = float(parameters.get(key, np.nan))
        return found if np.isfinite(found) else 0.0

    alpha, gamma = value("smoothing_level"), value("smoothing_seasonal")
    growth = spread_growth(alpha, value("smoothing_trend"), value("damping_trend"), steps)
    if not season:
        return growth
    seasons = np.floor(np.arange(steps) / season)
    total: FloatArray = np.sqrt(growth**2 + seasons * gamma**2)
    return total


def fit_arima(values: FloatArray, steps: int) -> Fit:
    """ARIMA on the newest points, order by AIC, differenced when it walks; unknown steps are passed over exactly."""
    from statsmodels.tsa.arima.model import ARIMA

    newest = values[-NEWEST:]
    d = 1 if _first_autocorrelation(filled(newest)) > RANDOM_WALK else 0
    best = None
    with _quiet():
        for p, q in ORDERS:
            result = ARIMA(newest, order=(p, d, q)).fit(method_kwargs={"maxiter": 50})
            if best is None or result.aic < best[0]:
                best = (result.aic, result, (p, d, q))
        assert best is not None
        ahead = best[1].get_forecast(steps)
        mean = np.asarray(ahead.predicted_mean, dtype=np.float64)
        deviation = np.asarray(ahead.se_mean, dtype=np.float64)
        errors = np.asarray(best[1].resid, dtype=np.float64)[3:]
    spread = deviation / deviation[0] if deviation[0] > 0 else np.ones(steps)
    return _checked(Fit(mean, spread, errors, f"order {best[2]} on {len(newest)} points"))


def _first_autocorrelation(values: FloatArray) -> float:
    centred = values - values.mean()
    total = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / total if total > 0 else 0.0


def fourier_terms(first: int, count: int, periods: tuple[int, ...], harmonics: int = HARMONICS) -> FloatArray:
    """Constant, sines and cosines (count, C) at steps first..first+count-1 for each period; no frequency twice."""
    t = np.arange(first, first + count, dtype=np.float64)
    columns, taken = [np.ones(count)], set[Fraction]()
    for period in periods:
        for k in range(1, min(harmonics, (period - 1) // 2) + 1):
            frequency = Fraction(k, period)
            if frequency in taken:
                continue
            taken.add(frequency)
            turns = 2 * np.pi * float(frequency) * t
            columns += [np.sin(turns), np.cos(turns)]
    return np.stack(columns, axis=1)


def without_season(values: FloatArray, steps: int, periods: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """What is left of the values (T,) when their Fourier season is taken out, and the season of the steps ahead."""
    terms = fourier_terms(0, len(values), periods)
    known = ~np.isnan(values)
    with _quiet():
        weights, *_ = np.linalg.lstsq(terms[known], values[known], rcond=None)
    ahead: FloatArray = fourier_terms(len(values), steps, periods) @ weights
    return values - terms @ weights, ahead


def _checked(fit: Fit) -> Fit:
    if not (np.isfinite(fit.mean).all() and np.isfinite(fit.spread).all()):
        raise FitError("no fit (the forecast is not finite)")
    return fit
