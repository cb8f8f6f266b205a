"""Series that tests make: batches of counts at minute grain, and the shapes that demand takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prewarm.domain import FloatArray
from prewarm.forecast.series import SeriesBatch

MONDAY = 1_767_571_200.0  # 2026-01-05T00:00:00Z
LEVELS = (0.025, 0.5, 0.9, 0.975)


def batch_of(*rows: ArrayLike, step_s: int = 60, start: float = MONDAY) -> SeriesBatch:
    """Rows of equal length side by side, named f0, f1, ..."""
    values = np.array(rows, dtype=np.float64)
    return SeriesBatch(values, step_s, start, tuple(f"f{i}" for i in range(len(rows))))


def every(period: int, length: int, phase: int = 0, size: float = 1.0) -> FloatArray:
    """A call of `size` every `period` steps."""
    out = np.zeros(length)
    out[phase::period] = size
    return out
