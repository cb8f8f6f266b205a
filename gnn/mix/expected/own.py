"""Forecasts that a rule makes by itself, from when a function was called before: for the second table of the bench."""

from __future__ import annotations

import numpy as np

from prewarm.domain import Float32Array

KEPT_MIN = 10
HALF_LIFE_MIN = 60.0
_BEFORE = 0.02  # minutes' worth of a call in the first one


def kept_alive(counts: Float32Array, minutes: int = KEPT_MIN) -> Float32Array:
    """1 for so many minutes after a call, else 0, (s, T): the fixed keep-alive of most platforms."""
    some = np.cumsum(counts > 0, axis=1)
    before = np.concatenate([np.zeros((len(counts), 1), some.dtype), some[:, :-1]], axis=1)
    long_ago = np.concatenate([np.zeros((len(counts), minutes + 1), some.dtype), some[:, : -minutes - 1]], axis=1)
    alive: Float32Array = (before > long_ago[:, : before.shape[1]]).astype(np.float32)
    return alive


def counted(counts: Float32Array, half_life_min: float = HALF_LIFE_MIN) -> Float32Array:
    """Share of the minutes before that had a call, older ones forgotten, (s, T)."""
    keep = 0.5 ** (1.0 / half_life_min)
    called = (counts > 0).astype(np.float64)
    out = np.zeros(counts.shape, np.float32)
    seen, looked = np.full(len(counts), _BEFORE), 1.0
    for minute in range(counts.shape[1]):
        out[:, minute] = seen / looked
        seen = keep * seen + called[:, minute]
        looked = keep * looked + 1.0
    return out
