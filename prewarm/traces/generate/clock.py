"""Local time of every minute of a synthetic trace, with the clock changes of its time zone.

People follow the clock on the wall, so the daily rhythm, the weekend and the local schedules of a trace must move by an
hour in UTC when that clock does. Offsets are looked up once per hour of the trace, which is finer than any change.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from prewarm.domain import InputError, Int32Array, IntArray

DAY = 1440
WEEK = 7 * DAY
_EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday; Monday is 0


@dataclass(frozen=True, slots=True, eq=False)
class LocalClock:
    """local: (minutes,) local minute since the local epoch of each minute of the trace; it jumps at a clock change."""

    start_minute: int
    timezone: str
    local: IntArray

    @property
    def minutes(self) -> int:
        """Length of the trace."""
        return len(self.local)

    @property
    def days(self) -> int:
        """Whole days of the trace."""
        return self.minutes // DAY

    def minute_of_day(self) -> Int32Array:
        """Local minute of the day, 0..1439 (minutes,)."""
        return (self.local % DAY).astype(np.int32)

    def minute_of_week(self) -> Int32Array:
        """Local minute of the week, 0 at Monday 00:00 (minutes,)."""
        return ((self.local + _EPOCH_WEEKDAY * DAY) % WEEK).astype(np.int32)

    def place(self, local_minute: int) -> int | None:
        """Index of the first minute with this local minute; None where the trace or a clock change leaves it out."""
        found = np.flatnonzero(self.local == local_minute)
        return int(found[0]) if len(found) else None


def local_clock(start: datetime, days: int, timezone: str) -> LocalClock:
    """The clock of `days` days from `start` (UTC midnight); InputError for an unknown zone or no full day."""
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(f"timezone: must be a name of the IANA database, is {timezone[:60]!r}") from None
    first, rest = divmod(int(start.timestamp()), 60)
    if start.tzinfo is None or rest or first % DAY:
        raise InputError(f"start: must be midnight UTC, is {start.isoformat()}")
    minute = first + np.arange(days * DAY, dtype=np.int64)
    hours = [datetime.fromtimestamp(int(at) * 60, UTC).astimezone(zone).utcoffset() for at in minute[::60]]
    offset = np.array([int(hour.total_seconds()) // 60 if hour else 0 for hour in hours], dtype=np.int64)
    return LocalClock(first, timezone, minute + np.repeat(offset, 60))
