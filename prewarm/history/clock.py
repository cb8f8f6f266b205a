"""When to believe our own clock.

A wrong clock is worse than no data: one leap forward would close every minute in between as unknown and reject all
true counts as late. So a large step, forward or back, is believed only after it has lasted `confirm_minutes`; until
then counts are refused with the reason (and so are not acknowledged), and functions go stale, which holds decisions
where they are.
"""

from __future__ import annotations


class ClockGuard:
    """Watches successive values of `now_minute`."""

    def __init__(self, jump_minutes: int, confirm_minutes: int) -> None:
        """Steps up to `jump_minutes` forward and `confirm_minutes` back are believed at once, as is the first value."""
        self._jump = jump_minutes
        self._confirm = confirm_minutes
        self._latest: int | None = None
        self._suspect: int | None = None

    def doubt(self, now_minute: int) -> str | None:
        """Why `now_minute` is not believed yet; None when it is."""
        if self._latest is None or -self._confirm <= now_minute - self._latest <= self._jump:
            self._latest = now_minute if self._latest is None else max(self._latest, now_minute)
            self._suspect = None
            return None
        if self._suspect is None or not 0 <= now_minute - self._suspect <= self._confirm + self._jump:
            self._suspect = now_minute
        lasted = now_minute - self._suspect
        if lasted >= self._confirm:
            self._latest, self._suspect = now_minute, None
            return None
        step = now_minute - self._latest
        return (
            f"our clock jumped {'forward' if step > 0 else 'back'} by {abs(step)} minutes; "
            f"believed once it has lasted {self._confirm} minutes, {self._confirm - lasted} to go"
        )
