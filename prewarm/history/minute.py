"""One minute while it is still open: what the sources have said of it so far, merged.

Dense over the functions, because a minute is written by several batches in any order and the number of open minutes is
small (those that late counts may still reach).
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import BoolArray, Float32Array, IntArray
from prewarm.history.batch import MinuteBatch


class OpenMinute:
    """Counts, concurrency and known flags of one minute, (functions,) each."""

    def __init__(self, functions: int) -> None:
        """Nothing known, nothing seen."""
        self.count: Float32Array = np.zeros(functions, np.float32)
        self.concurrency: Float32Array = np.zeros(functions, np.float32)
        self.known: BoolArray = np.zeros(functions, np.bool_)
        self._functions = functions

    def grow(self, functions: int) -> None:
        """Take in functions that were added since; they are unknown."""
        if functions > self._functions:
            more = max(functions, 2 * self._functions) - self._functions
            self.count = np.concatenate((self.count, np.zeros(more, np.float32)))
            self.concurrency = np.concatenate((self.concurrency, np.zeros(more, np.float32)))
            self.known = np.concatenate((self.known, np.zeros(more, np.bool_)))
            self._functions += more

    def merge(self, batch: MinuteBatch, functions: int) -> None:
        """Add a checked batch; `functions` is how many a batch that speaks for all speaks for.

        `sum` adds to what is there; `max` keeps the larger. A count whose concurrency nobody said has NaN there.
        """
        self.grow(functions)
        self.known[slice(functions) if batch.known is None else batch.known] = True
        if batch.repeat == "sum":
            unsaid = np.where(batch.count > 0, np.float32(np.nan), np.float32(0))
            np.add.at(self.count, batch.rows, batch.count)
            np.add.at(self.concurrency, batch.rows, unsaid if batch.concurrency is None else batch.concurrency)
            return
        np.maximum.at(self.count, batch.rows, batch.count)
        if batch.concurrency is not None:
            np.fmax.at(self.concurrency, batch.rows, batch.concurrency)
        else:
            called = batch.rows[batch.count > 0]
            said = self.concurrency[called]
            self.concurrency[called] = np.where(said == 0, np.float32(np.nan), said)

    def hits(self) -> IntArray:
        """Rows with a count above 0 or something running, ascending."""
        return np.flatnonzero((self.count > 0) | (self.concurrency != 0))
