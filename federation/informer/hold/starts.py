"""How long instances take to start in one member: the median of its newest starts, each pod's counted once.

A start counts when its pod is first seen ready. A pod that was ready before is not at its start, however its condition
moves; only those that fell from readiness and are still there have to be remembered for that. The newest starts are
kept by the time at which they ended, so neither the order of events nor a list of everything changes what is told.
"""

from __future__ import annotations

from heapq import heappush, heappushpop
from statistics import median

from federation.informer.read.pods import PodFacts
from federation.informer.read.start import Start

NEWEST = 64
WINDOW_S = 3_600.0
"""Starts that ended longer ago tell nothing of today."""
FEWEST = 3
REFRESH_S = 5.0
"""A median that was told stands for so long, lest every event make another one of it."""


class Starts:
    """The newest starts of one member."""

    def __init__(self) -> None:
        self._newest: list[tuple[Start, str]] = []
        self._fallen: set[str] = set()
        self._told: tuple[float, float] | None = None

    def pod_changed(self, key: str, before: PodFacts | None, after: PodFacts | None) -> None:
        """A Pod appeared, changed or went; nearly always one that is ready as it was."""
        if after is None:
            self._fallen.discard(key)
        elif after.ready == (before is not None and before.ready):
            return
        elif not after.ready:
            self._fallen.add(key)
        elif after.start is not None and key not in self._fallen:
            self._keep((after.start, key))

    def median_s(self, at: float) -> float | None:
        """Median start of the newest in the hour before `at` (the member's clock), to three digits; None for few."""
        if self._told is None or not self._told[0] <= at < self._told[0] + REFRESH_S:
            took = [start.took_s for start, _ in self._newest if start.at > at - WINDOW_S]
            self._told = (at, float(f"{median(took):.3g}")) if len(took) >= FEWEST else None
        return None if self._told is None else self._told[1]

    def _keep(self, found: tuple[Start, str]) -> None:
        """Into the heap whose first is the oldest, unless it is there, as after a collection that went and came."""
        if len(self._newest) == NEWEST and found <= self._newest[0]:
            return
        if found in self._newest:
            return
        if len(self._newest) < NEWEST:
            heappush(self._newest, found)
        else:
            heappushpop(self._newest, found)
