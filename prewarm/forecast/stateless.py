"""Series in, forecasts out, nothing kept: what `POST /v1/forecasts` and `prewarm forecast` do.

A request is checked field by field, since it comes from strangers: every refusal names the field and the rule, and
nothing that passes can make a forecaster raise or answer NaN. The answer depends on the request alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

import numpy as np

from prewarm.domain import Forecast, InputError, forecast_id, parse_time, rfc3339
from prewarm.forecast.batch import Levels, forecasts
from prewarm.forecast.local.calendar import zone_named
from prewarm.forecast.local.classical import Wishes
from prewarm.forecast.local.prior import PriorForecaster
from prewarm.forecast.models import Setting, model_named
from prewarm.forecast.series import Series, SeriesBatch

STEPS = (1, 1_440)
MOST_SERIES = 100
MOST_VALUES = 100_000  # per series
MOST_LEVELS = 20
START_YEARS = (1900, 9000)
DEFAULT_STEPS = 15
DEFAULT_LEVELS: Levels = (0.5, 0.9, 0.99)
FIELDS = ("series", "steps", "quantiles", "model", "season_steps", "trend", "seasonal", "zone")
SERIES_FIELDS = ("id", "step_s", "start", "values")


@dataclass(frozen=True, slots=True)
class Request:
    """A checked request."""

    series: tuple[Series, ...]
    model: str = "auto"
    steps: int = DEFAULT_STEPS
    levels: Levels = DEFAULT_LEVELS
    setting: Setting = field(default_factory=Setting)


def parse_request(body: object) -> Request:
    """The body of a request, decoded from JSON, checked; InputError names the first field that is wrong."""
    fields = _object(body, "body", FIELDS)
    wishes = Wishes(
        None if fields.get("season_steps") is None else whole(fields["season_steps"], "season_steps", 2, 100_000),
        _text(fields.get("trend", "add"), "trend"),
        _text(fields.get("seasonal", "add"), "seasonal"),
    )
    setting = Setting(zone_named(_text(fields.get("zone", "UTC"), "zone")), wishes)
    model = _text(fields.get("model", "auto"), "model")
    model_named(model, setting)
    return Request(
        _all_series(fields.get("series")),
        model,
        whole(fields.get("steps", DEFAULT_STEPS), "steps", *STEPS),
        checked_levels(fields.get("quantiles", DEFAULT_LEVELS)),
        setting,
    )


def answer(request: Request) -> tuple[Forecast, ...]:
    """A forecast for every series, in their order. Series without any known value are answered by the prior."""
    model = model_named(request.model, request.setting)
    found: list[Forecast] = []
    for series in request.series:
        batch = SeriesBatch.of([series])
        speaker = PriorForecaster(request.setting.prior) if np.isnan(batch.values).all() else model
        found.extend(forecasts(speaker.predict(batch, request.steps, request.levels), batch))
    return tuple(found)


def forecast_json(forecast: Forecast) -> dict[str, object]:
    """A forecast as the API writes it."""
    steps: list[dict[str, object]] = []
    for i, mean in enumerate(forecast.mean.tolist()):
        quantiles = forecast.quantiles[i].tolist()
        chances = forecast.p_at_least[i].tolist()
        steps.append(
            {
                "at": rfc3339(forecast.issued_at + i * forecast.step_s),
                "mean": round(mean, 6),
                "quantiles": {f"{lv:g}": round(q, 6) for lv, q in zip(forecast.levels, quantiles, strict=True)},
                "p_at_least": {str(k): round(p, 6) for k, p in enumerate(chances, 1)},
            }
        )
    return {
        "id": forecast_id(forecast.issued_at, forecast.function),
        "function": forecast.function,
        "issued_at": rfc3339(forecast.issued_at),
        "step_s": forecast.step_s,
        "model": forecast.model,
        "reason": forecast.reason,
        "data": str(forecast.data),
        "steps": steps,
    }


def whole(value: object, place: str, least: int, most: int) -> int:
    """A whole number between two bounds; InputError naming `place` and the bounds otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{place}: must be a whole number between {least} and {most}, is {_shown(value)}")
    return value


def checked_levels(value: object) -> Levels:
    """Quantile levels strictly between 0 and 1, each once; InputError naming the one that is wrong."""
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST_LEVELS:
        raise InputError(f"quantiles: must be a list of 1 to {MOST_LEVELS} levels, is {_shown(value)}")
    levels: list[float] = []
    for i, level in enumerate(value):
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise InputError(f"quantiles[{i}]: must be between 0 and 1, is {_shown(level)}")
        if level in levels:
            raise InputError(f"quantiles[{i}]: {level:g} is given twice")
        levels.append(float(level))
    return tuple(levels)


def _all_series(value: object) -> tuple[Series, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_SERIES:
        raise InputError(f"series: must be a list of 1 to {MOST_SERIES} series, is {_shown(value)}")
    return tuple(_one_series(one, f"series[{i}]") for i, one in enumerate(value))


def _one_series(value: object, place: str) -> Series:
    fields = _object(value, place, SERIES_FIELDS)
    if "values" not in fields:
        raise InputError(f"{place}.values: is required")
    step_s = whole(fields.get("step_s", 60), f"{place}.step_s", 1, 86_400)
    start = fields.get("start")
    at = 0.0 if start is None else _start(_text(start, f"{place}.start"), f"{place}.start")
    name = _text(fields.get("id", place), f"{place}.id")
    return Series(_values(fields["values"], f"{place}.values"), step_s, at, name)


def _start(text: str, place: str) -> float:
    """A moment with room for the longest series and forecast behind it, so that every step has a date."""
    at = parse_time(text, place)
    first, last = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in START_YEARS)
    if not first <= at < last:
        raise InputError(f"{place}: must be in the years {START_YEARS[0]} to {START_YEARS[1] - 1}, is {text[:60]!r}")
    return at


def _values(value: object, place: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if not isinstance(value, list):
        raise InputError(f"{place}: must be a list of numbers and nulls, is {_shown(value)}")
    if len(value) > MOST_VALUES:
        raise InputError(f"{place}: at most {MOST_VALUES} values are taken, are {len(value)}")
    out = np.full(len(value), np.nan)
    for i, one in enumerate(value):
        if one is None:
            continue
        if isinstance(one, bool) or not isinstance(one, int | float) or not 0 <= one <= 1e15:
            raise InputError(f"{place}[{i}]: must be null or a number from 0 to 1e15, is {_shown(one)}")
        out[i] = one
    return out


def _object(value: object, place: str, known: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: must be an object, is {_shown(value)}")
    for key in value:
        if key not in known:
            raise InputError(f"{place}: unknown field {str(key)[:40]!r}; known are {', '.join(known)}")
    return cast("Mapping[str, object]", value)


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 253:
        raise InputError(f"{place}: must be a text of 1 to 253 characters, is {_shown(value)}")
    return value


def _shown(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "not a finite number"
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__} of {len(value)}"
    return repr(value)[:60]
