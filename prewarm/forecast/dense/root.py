"""Counts on the scale on which their noise is even, and gaps closed the way that a look at the past allows.

The square root of a count plus 3/8 has nearly the same spread at every level (Anscombe, Biometrika 1948), so that one
linear fit serves quiet and busy hours. Gaps are closed from the past only: a value that is filled in for minute t never
depends on a later minute, or a rolled forecast would see ahead.
"""

from __future__ import annotations

import numpy as np

from prewarm.domain import FloatArray

DAY = 1440
WEEK = 7 * DAY


def rooted(counts: FloatArray) -> FloatArray:
    """sqrt(count + 3/8), any shape; NaN stays NaN."""
    root: FloatArray = np.sqrt(np.maximum(counts, 0.0) + 0.375)
    return root


def counted(root: FloatArray) -> FloatArray:
    """The count of a root, never negative."""
    count: FloatArray = np.maximum(np.square(np.maximum(root, 0.0)) - 0.375, 0.0)
    return count


def closed(values: FloatArray) -> FloatArray:
    """One series (T,) whose first value is known, gaps filled: same minute of the day before, else the last known."""
    out = values.copy()
    gaps = np.flatnonzero(np.isnan(out))
    for at in gaps.tolist():
        before = out[at - DAY] if at >= DAY else np.nan
        out[at] = out[at - 1] if np.isnan(before) else before
    return out


def since_known(values: FloatArray) -> FloatArray:
    """The series from its first known value on; empty where nothing is known."""
    known = np.flatnonzero(~np.isnan(values))
    return values[known[0] :] if len(known) else values[:0]
