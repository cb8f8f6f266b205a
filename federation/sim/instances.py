"""Instances of simulated clusters: ready ones are counted, starting ones wait for their moment.

All randomness (how long a start takes, who is lost) comes from one generator that the owner hands over.
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import IntArray

START_SPREAD = 0.4
"""Standard deviation of the logarithm of a start-up time; its mean is the function's."""


class Instances:
    """n functions over c clusters. `lost` counts those that went down with their node."""

    def __init__(self, functions: int, clusters: int, rng: np.random.Generator) -> None:
        self.ready: IntArray = np.zeros((functions, clusters), dtype=np.int64)
        self.lost = 0
        self._starting: list[tuple[float, int, int]] = []
        self._rng = rng

    def existing(self) -> IntArray:
        """Ready or starting, (n, c)."""
        count = self.ready.copy()
        for _, row, column in self._starting:
            count[row, column] += 1
        return count

    def start(self, row: int, column: int, *, count: int, mean_s: float, now: float) -> None:
        """Begin to start `count` instances."""
        factor = self._rng.lognormal(-(START_SPREAD**2) / 2, START_SPREAD, count)
        self._starting += [(now + mean_s * float(each), row, column) for each in factor]

    def finish(self, now: float) -> None:
        """What was to be ready by `now` is."""
        for at, row, column in self._starting:
            if at <= now:
                self.ready[row, column] += 1
        self._starting = [entry for entry in self._starting if entry[0] > now]

    def stop(self, surplus: IntArray) -> None:
        """Let go of `surplus` (n, c), those that began last first."""
        left = surplus.copy()
        kept = []
        for entry in reversed(self._starting):
            if left[entry[1], entry[2]] > 0:
                left[entry[1], entry[2]] -= 1
            else:
                kept.append(entry)
        self._starting = kept[::-1]
        self.ready -= np.minimum(left, self.ready)

    def lose(self, rows: IntArray, column: int, count: int) -> None:
        """`count` instances of these functions go down in a cluster: whichever, ready and starting alike."""
        among = set(rows.tolist())
        starting = [at for at, entry in enumerate(self._starting) if entry[2] == column and entry[1] in among]
        ready = np.repeat(rows, self.ready[rows, column])
        drawn = self._rng.permutation(len(starting) + len(ready))[:count]
        gone = {starting[at] for at in drawn[drawn < len(starting)]}
        self._starting = [entry for at, entry in enumerate(self._starting) if at not in gone]
        fallen = ready[drawn[drawn >= len(starting)] - len(starting)]
        self.ready[:, column] -= np.bincount(fallen, minlength=len(self.ready))
        self.lost += len(drawn)
