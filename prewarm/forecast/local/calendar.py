"""What the clock and the calendar say: local time, announced events, and how such knowledge raises a forecast.

People live by local time, so profiles are kept by it and a change of the clock moves them; everything else here is UTC.
What is announced (a promotion) or repeats (the same time yesterday) can only raise a forecast made from the counts:
it says that something comes, never that nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from zoneinfo import ZoneInfo

import numpy as np

from prewarm.domain import FloatArray, InputError, IntArray, rfc3339
from prewarm.forecast.batch import ForecastBatch
from prewarm.forecast.series import SeriesBatch

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


@dataclass(frozen=True, slots=True)
class Hint:
    """An announced event: functions (key or pattern with *), from-to, how many at once (or per step), how sure."""

    name: str
    functions: str
    start: float
    end: float
    expected: float
    sure: float = 0.95

    def __post_init__(self) -> None:
        if not (self.end > self.start and self.expected >= 0 and 0 < self.sure < 1):
            raise InputError(f"hint {self.name}: end must be after start, expected 0 or more, sure between 0 and 1")


def announce(answer: ForecastBatch, batch: SeriesBatch, hints: Sequence[Hint]) -> ForecastBatch:
    """The forecast raised to what is announced for the steps that a hint covers, its name in the reason."""
    begins = step_times(batch.end, batch.step_s, answer.mean.shape[1])
    for hint in hints:
        steps = (begins + batch.step_s > hint.start) & (begins < hint.end)
        rows = np.array([fnmatchcase(name, hint.functions) for name in batch.names], dtype=bool)
        if not (steps.any() and rows.any()):
            continue
        covered = rows[:, None] & steps[None, :]
        chance = np.where(covered, hint.sure, 0.0)
        why = f"announced: {hint.name}, {rfc3339(hint.start)} to {rfc3339(hint.end)}"
        notes = [why if row else None for row in rows]
        answer = raise_to(answer, np.where(covered, hint.expected, 0.0), chance, notes)
    return answer


def raise_to(
    answer: ForecastBatch, expected: FloatArray, chance: FloatArray, notes: Sequence[str | None]
) -> ForecastBatch:
    """The forecast with `expected` (n, H) reached with at least `chance` (n, H); a note is added to a row's reason."""
    levels = np.asarray(answer.levels)
    reached = levels[None, None, :] > 1.0 - chance[..., None]
    quantiles = np.where(reached, np.maximum(answer.quantiles, expected[..., None]), answer.quantiles)
    ks = np.arange(1, answer.p_at_least.shape[2] + 1)
    within = expected[..., None] >= ks - 0.5
    p_at_least = np.where(within, np.maximum(answer.p_at_least, chance[..., None]), answer.p_at_least)
    reasons = tuple(f"{r}; {note}" if note else r for r, note in zip(answer.reasons, notes, strict=True))
    mean = np.maximum(answer.mean, chance * expected)
    return replace(answer, mean=mean, quantiles=quantiles, p_at_least=p_at_least, reasons=reasons)
