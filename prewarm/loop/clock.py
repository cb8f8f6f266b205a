"""The service's time: the wall clock, or a simulated one that runs faster; the only places where a clock is read.

Pacing is by the monotonic clock, so a step of the wall clock never makes the loop race or sleep for a day; the wall
clock only says which minute a count belongs to.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

NEAR_S = 900.0


class Clock(Protocol):
    """What time it is, and when the next tick is due."""

    @property
    def speed(self) -> float:
        """Seconds of this clock in a real second."""
        ...

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def of_wall(self, at: float) -> float:
        """What a time told from outside is on this clock."""
        ...

    async def next_tick(self, tick_s: float) -> tuple[float, int]:
        """Waits for the next tick; returns its time and how many were left out because the loop was late."""
        ...


class WallClock:
    """The machine's time. Ticks are multiples of `tick_s` on the wall, reached by sleeping monotonic time."""

    speed = 1.0

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def of_wall(self, at: float) -> float:
        """The same."""
        return at

    async def next_tick(self, tick_s: float) -> tuple[float, int]:
        """Sleeps to the next multiple of `tick_s`; a clock that was set meanwhile moves the tick, never repeats it."""
        due = (time.time() // tick_s + 1) * tick_s
        # A sleep may end a little early; only a clock that was set leaves more than a tick between now and due.
        while 0 < (left_s := due - time.time()) <= tick_s:  # noqa: ASYNC110  time itself is waited for
            await asyncio.sleep(left_s)
        return time.time(), 0


class SimulatedClock:
    """Time that starts at `start` and runs `speed` times as fast as the monotonic clock, tick by tick.

    A tick that the machine could not keep up with is not left out: simulated time waits for it. Up to `rush_until`
    (s) nothing is waited for, so that a page which is opened at once already has something to show.
    """

    def __init__(self, start: float, speed: float, *, rush_until: float = 0.0) -> None:
        self._now = start
        self._rush_until = rush_until
        self._due = time.monotonic()
        self.speed = speed

    def now(self) -> float:
        """Simulated seconds since the epoch; they advance with the ticks."""
        return self._now

    def of_wall(self, at: float) -> float:
        """Outside it is another time: now there is now here. Times near this clock's own are taken as they are."""
        return at if abs(at - self._now) <= NEAR_S else at + self._now - time.time()

    async def next_tick(self, tick_s: float) -> tuple[float, int]:
        """Waits tick_s / speed real seconds since the last one was due."""
        wait_s = 0.0 if self._now < self._rush_until else tick_s / self.speed
        self._due = max(self._due + wait_s, time.monotonic())
        await asyncio.sleep(self._due - time.monotonic())
        self._now += tick_s
        return self._now, 0
