"""What the clock and the calendar say: local time, announced events, and how such knowledge raises a forecast.

People live by local time, so profiles are kept by it and a change of the clock moves them; everything else here is UTC.
What is announced (a promotion) or repeats (the same time yesterday) can only raise a forecast made from the counts:
it says that something comes, never that nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from zoneinfo import ZoneInfo

import numpy as np

from prewarm.domain import FloatArray, Forecast, InputError, IntArray, rfc3339
from prewarm.forecast.batch import ForecastBatch
from prewarm.settings import Event

DAY_S = 86_400
WEEK_S = 7 * DAY_S
OFFSET_GRAIN_S = 900  # zones change their offset at full quarters of an hour


def zone_named(name: str, place: str = "zone") -> ZoneInfo:
    """The time zone of an IANA name; InputError naming `place` otherwise."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InputError(f"{place}: is no time zone, is {name[:60]!r}") from None


def local_seconds(times: FloatArray, zone: ZoneInfo) -> IntArray:
    """Local wall-clock seconds since Thursday 1970-01-01 00:00, for moments in seconds since the epoch."""
    from datetime import datetime

    grains, place = np.unique(np.floor(times / OFFSET_GRAIN_S).astype(np.int64), return_inverse=True)
    offsets = np.empty(len(grains), dtype=np.int64)
    for i, grain in enumerate(grains.tolist()):
        offset = datetime.fromtimestamp(grain * OFFSET_GRAIN_S, zone).utcoffset()
        offsets[i] = 0 if offset is None else int(offset.total_seconds())
    local: IntArray = np.floor(times).astype(np.int64) + offsets[place.reshape(-1)]
    return local


def step_times(start: float, step_s: int, count: int) -> FloatArray:
    """Moments at which steps begin, (count,)."""
    return start + step_s * np.arange(count, dtype=np.float64)


def is_weekend(local: IntArray) -> FloatArray:
    """1.0 on Saturday and Sunday of the local calendar, else 0.0."""
    weekday = (local // DAY_S + 3) % 7  # 1970-01-01 was a Thursday; 0 is Monday
    return (weekday >= 5).astype(np.float64)


def announce(forecast: Forecast, events: Sequence[Event]) -> Forecast:
    """One function's forecast raised to what is announced for the steps that an event covers, its name in the reason.

    Steps are those from `issued_at` on; events of other functions change nothing.
    """
    begins = step_times(forecast.issued_at, forecast.step_s, len(forecast.mean))
    for event in events:
        if not fnmatchcase(forecast.function, event.function):
            continue
        covered = np.array([event.covers(begin, begin + forecast.step_s) for begin in begins.tolist()], dtype=np.bool_)
        if covered.any():
            chance, need = np.where(covered, event.sure, 0.0), np.where(covered, float(event.need), 0.0)
            mean, quantiles, chances = raised(forecast, need, chance)
            why = f"announced: {event.name}, {rfc3339(event.start.timestamp())} to {rfc3339(event.end.timestamp())}"
            reason = f"{forecast.reason}; {why}"
            forecast = replace(forecast, mean=mean, quantiles=quantiles, p_at_least=chances, reason=reason)
    return forecast


def raise_to(
    answer: ForecastBatch, expected: FloatArray, chance: FloatArray, notes: Sequence[str | None]
) -> ForecastBatch:
    """The forecast with `expected` (n, H) reached with at least `chance` (n, H); a note is added to a row's reason."""
    mean, quantiles, p_at_least = raised(answer, expected, chance)
    reasons = tuple(f"{r}; {note}" if note else r for r, note in zip(answer.reasons, notes, strict=True))
    return replace(answer, mean=mean, quantiles=quantiles, p_at_least=p_at_least, reasons=reasons)


def raised(
    forecast: Forecast | ForecastBatch, expected: FloatArray, chance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, quantiles and P(N >= k) with `expected` reached with at least `chance`, both shaped as the mean."""
    reached = np.asarray(forecast.levels) > 1.0 - chance[..., None]
    quantiles = np.where(reached, np.maximum(forecast.quantiles, expected[..., None]), forecast.quantiles)
    ks = np.arange(1, forecast.p_at_least.shape[-1] + 1)
    within = expected[..., None] >= ks - 0.5
    p_at_least = np.where(within, np.maximum(forecast.p_at_least, chance[..., None]), forecast.p_at_least)
    return np.maximum(forecast.mean, chance * expected), quantiles, p_at_least
