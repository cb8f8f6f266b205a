"""The calls of a day, minute by minute: how many, from which region, and how long a start takes then.

Calls come from whole regions: each is drawn from its function's mix at that minute, which the daily wave bends. They
are kept sparse, minute by minute in the order of the functions, because that is how a day is replayed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gnn.mix.world.functions import Functions, need_of
from prewarm.domain import Float32Array, FloatArray, Int32Array, IntArray

WAVE = 0.8
DAY_MIN = 1440.0
START_MEAN_S, START_SD_S, START_MOST_S = 3.24, 7.10, 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """All (function, minute) pairs with a call, by minute, then function.

    first: (T + 1,) where each minute's pairs begin; row, calls, need: (h,); start_s: (h,) what a start takes then;
    origin: (h, c) calls from each region.
    """

    first: IntArray
    row: Int32Array
    calls: Float32Array
    need: Int32Array
    start_s: Float32Array
    origin: Float32Array


def wave(peak_min: FloatArray, minute: FloatArray) -> FloatArray:
    """How much more or less each region calls at `minute` (k,) than on average, (k, c)."""
    phase = 2.0 * math.pi * (minute[:, None] - peak_min[None, :]) / DAY_MIN
    return np.add(1.0, WAVE * np.cos(phase))


def mix_at(functions: Functions, peak_min: FloatArray, row: Int32Array, minute: FloatArray) -> FloatArray:
    """Callers' shares by region of function `row` at `minute`, both (k,): (k, c), each row adding to 1."""
    bent = functions.mix[row] * wave(peak_min, minute)
    shares: FloatArray = bent / bent.sum(axis=1, keepdims=True)
    return shares


def draw_hits(counts: Float32Array, functions: Functions, peak_min: FloatArray, rng: np.random.Generator) -> Hits:
    """The day of `counts` (n, T)."""
    minute, called = np.nonzero(counts.T > 0)
    row: Int32Array = called.astype(np.int32)
    calls = counts[row, minute]
    first = np.searchsorted(minute, np.arange(counts.shape[1] + 1)).astype(np.int64)
    mix = mix_at(functions, peak_min, row, minute.astype(np.float64))
    origin = rng.multinomial(calls.astype(np.int64), mix)
    need = need_of(calls.astype(np.float64), functions.duration_ms[row])
    start_s = draw_starts(len(row), rng)
    return Hits(first, row, calls, need, start_s.astype(np.float32), origin.astype(np.float32))


def draw_starts(count: int, rng: np.random.Generator) -> FloatArray:
    """Start-up times in s, LogNormal with the public mean and deviation, cut at a minute."""
    return np.minimum(rng.lognormal(*start_law(), count), START_MOST_S)


def start_law() -> tuple[float, float]:
    """Mean and deviation of the logarithm of a start-up time in s, before the cut."""
    variance = math.log(1.0 + (START_SD_S / START_MEAN_S) ** 2)
    return math.log(START_MEAN_S) - variance / 2.0, math.sqrt(variance)
