"""The agenda of a discrete-event simulation: a clock that only moves forward and a heap of what is due.

Entries of the same moment come out in the order in which they were put in, by a counter, so that a run is the same on
every machine.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field


@dataclass(slots=True)
class Agenda:
    """Moments at which somebody (an integer, such as a function's row) wants to be called; `now_s` is the clock."""

    now_s: float = 0.0
    _counter: int = 0
    _heap: list[tuple[float, int, int]] = field(default_factory=list)

    def put(self, at_s: float, who: int) -> None:
        """Call `who` at `at_s`; an infinite moment is never. The past is an error of the caller: ValueError."""
        if at_s < self.now_s or math.isnan(at_s):
            raise ValueError(f"event at {at_s} s lies before the clock, {self.now_s} s")
        if math.isfinite(at_s):
            self._counter += 1
            heapq.heappush(self._heap, (at_s, self._counter, who))

    def take(self, until_s: float) -> tuple[float, int] | None:
        """The next (moment, who) not after `until_s`, moving the clock there; None when nothing is left till then."""
        if not self._heap or self._heap[0][0] > until_s:
            return None
        self.now_s, _, who = heapq.heappop(self._heap)
        return self.now_s, who


def next_tick(now_s: float, tick_s: float) -> float:
    """The first multiple of `tick_s` after `now_s`."""
    return (math.floor(now_s / tick_s + 1e-9) + 1) * tick_s


def tick_at_or_after(at_s: float, tick_s: float) -> float:
    """The first multiple of `tick_s` that is not before `at_s`; infinity stays infinity."""
    return math.ceil(at_s / tick_s - 1e-9) * tick_s if math.isfinite(at_s) else at_s
