"""How many instances and calls are expected if a function is called, and who called so far; a fold over the minutes.

Whether it is called is the learned model's word (`chances`). How many instances it then needs is read from its own
called minutes, newer ones weighing more: the need given a call changes slowly, and a question a level and minute to
the learned model would cost hours for a fleet.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gnn.mix.state import HALF_LIVES_MIN
from gnn.mix.world.functions import MOST_NEEDED
from prewarm.domain import Float32Array, FloatArray, Int32Array, IntArray

FADE = 0.85  # weight of a called minute against the next called one
FIRST_CALLS = 1.0  # expected of a function that was never called


class Teller:
    """Keeps tail (n, 64), calls (n,) and seen (2, n, c) up to date; `hear` takes in a minute that has ended."""

    def __init__(self, functions: int, clusters: int) -> None:
        self.tail: Float32Array = np.zeros((functions, MOST_NEEDED), np.float32)
        self.tail[:, 0] = 1.0
        self.calls: FloatArray = np.full(functions, FIRST_CALLS)
        self.seen: FloatArray = np.zeros((len(HALF_LIVES_MIN), functions, clusters))
        self._heard: IntArray = np.zeros(functions, np.int64)
        self._keep = 0.5 ** (1.0 / np.array(HALF_LIVES_MIN))

    def hear(self, row: Int32Array, calls: Float32Array, need: Int32Array, came: FloatArray | Float32Array) -> None:
        """The pairs of one minute: functions called (h,), how often, needing how much, came (h, c) from where."""
        _hear(row, (calls, need, came), (self.tail, self.calls, self._heard))
        for memory, keep in enumerate(self._keep):
            self.seen[memory] *= keep
            self.seen[memory][row] += came


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _hear(row: Any, minute: Any, books: Any) -> None:
    """The latest called minute against the ones before; the first says it all."""
    calls, need, _ = minute
    tail, expected, heard = books
    for h in range(row.size):
        i = row[h]
        fade = FADE if heard[i] > 0 else 0.0
        for k in range(tail.shape[1]):
            tail[i, k] = fade * tail[i, k] + (1.0 - fade) * (need[h] > k)
        expected[i] = fade * expected[i] + (1.0 - fade) * calls[h]
        heard[i] += 1
