"""How long counts, decisions and audits are kept, and how much is forgiven in time.

Memory and disk are bounded by coarsening with age: recent counts keep the minute grain that decisions need, older ones
are summed to five minutes and then to hours, which is what daily and weekly seasons need. The same numbers rule the
store, so that a restart brings back what was in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from prewarm.domain import InputError

DAY_MINUTES = 1440
_MAX_MINUTE_DAYS = 40  # minutes within a block are 16-bit offsets


@dataclass(frozen=True, slots=True)
class Retention:
    """Ages at which data coarsens or goes; a day is 1,440 minutes. InputError when the ages are out of order."""

    minute_days: float = 2.0
    """Minute grain up to this age."""
    five_minute_days: float = 7.0
    """Five-minute grain up to this age."""
    hour_days: float = 14.0
    """Hour grain up to this age; older counts are dropped."""
    late_s: float = 900.0
    """A count may come this late and is merged in; older ones are rejected."""
    future_s: float = 60.0
    """A count may lie this far ahead of our clock (a source's clock that runs fast)."""
    jump_s: float = 3600.0
    """A step of our own clock beyond this is believed only after it has lasted `late_s`."""
    stale_s: float = 180.0
    """A function whose last known minute ended longer ago than this is stale."""
    decisions_days: float = 14.0
    """Decisions are kept in the store this long."""
    audit_days: float = 400.0
    """Audit entries (overrides, modes, policies) are kept in the store this long."""

    def __post_init__(self) -> None:
        """Refuse ages that contradict each other, naming the field and the rule."""
        for item in fields(self):
            value = getattr(self, item.name)
            if not 0 < value < float("inf"):
                raise InputError(f"retention.{item.name}: must be above 0 and finite, is {value}")
        if self.minute_days > _MAX_MINUTE_DAYS:
            raise InputError(f"retention.minute_days: must be at most {_MAX_MINUTE_DAYS}, is {self.minute_days}")
        if not self.minute_days <= self.five_minute_days <= self.hour_days:
            raise InputError(
                "retention: minute_days <= five_minute_days <= hour_days is required, are "
                f"{self.minute_days}, {self.five_minute_days}, {self.hour_days}"
            )

    @property
    def late_minutes(self) -> int:
        """Whole minutes that stay open for late counts."""
        return int(self.late_s // 60)

    def first_minutes(self, now_minute: int) -> tuple[int, int, int]:
        """First minute still at minute, five-minute and hour grain, each at the start of its hour."""
        ages = (self.minute_days, self.five_minute_days, self.hour_days)
        oldest = tuple((now_minute - int(days * DAY_MINUTES)) // 60 * 60 for days in ages)
        return oldest[0], oldest[1], oldest[2]
