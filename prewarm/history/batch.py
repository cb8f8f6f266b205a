"""One source's word on one minute, as it is observed and as it is stored.

A batch says three different things that must not be mixed up: who was called how often (`rows`, `count`), for whom the
source can speak at all (`known`), and what to do when the same minute is reported again (`repeat`). A function that is
named but not known is a partial answer: its count is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from prewarm.domain import Float32Array, InputError, Int32Array

Repeat = Literal["sum", "max"]


@dataclass(frozen=True, slots=True)
class MinuteBatch:
    """Counts of one minute. `rows`: (k,) int32 indices, may repeat; `count`, `concurrency`: (k,) float32.

    `concurrency` is the mean number of running calls within the minute, None where the source has none.
    `known`: (m,) int32 indices of the functions the source speaks for, None for all functions there are.
    `repeat`: `sum` for separate events (two gateways), `max` for a second reading of the same total (a poll again).
    """

    minute: int
    rows: Int32Array
    count: Float32Array
    concurrency: Float32Array | None = None
    known: Int32Array | None = None
    repeat: Repeat = "sum"

    def check(self, functions: int) -> None:
        """InputError unless shapes agree, rows exist among `functions`, and values are finite and 0 or more."""
        place = f"counts of minute {self.minute}"
        _check_rows(self.rows, functions, f"{place}: rows")
        if self.known is not None:
            _check_rows(self.known, functions, f"{place}: known")
        for name, values in (("count", self.count), ("concurrency", self.concurrency)):
            if values is None:
                continue
            if values.shape != self.rows.shape:
                raise InputError(f"{place}: {name} must have one value a row, has {values.size} for {self.rows.size}")
            if values.size and not (np.isfinite(values).all() and values.min() >= 0):
                raise InputError(f"{place}: {name} must be finite and 0 or more")


def _check_rows(rows: Int32Array, functions: int, place: str) -> None:
    if rows.ndim != 1:
        raise InputError(f"{place}: must be one-dimensional, has {rows.ndim} dimensions")
    if rows.size and not (rows.min() >= 0 and rows.max() < functions):
        raise InputError(f"{place}: must be within 0..{functions - 1}, are {rows.min()}..{rows.max()}")
