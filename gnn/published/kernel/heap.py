"""A binary heap of (time, id) in two arrays, and uniform draws that belong to a number instead of an order.

Draws are hashed, so that a call's service time or a replica's start-up is the same whatever a policy did before it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

Array = Any

compiled = numba.njit(cache=True)

_STEP_A, _STEP_B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_MIX_A, _MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_A, _SHIFT_B, _SHIFT_C, _LOW = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 1.0 / (1 << 53)


@compiled  # type: ignore[untyped-decorator]
def uniform(seed: int, number: int, use: int) -> float:
    """In 0..1, 1 left out, for the `use`-th draw of `number` (splitmix64's finaliser)."""
    z = np.uint64(seed) * _STEP_B + np.uint64(number) * _STEP_A + np.uint64(use) * _MIX_B + _STEP_A
    z = (z ^ (z >> _SHIFT_A)) * _MIX_A
    z = (z ^ (z >> _SHIFT_B)) * _MIX_B
    z = z ^ (z >> _SHIFT_C)
    return float(z >> _LOW) * _UNIT


@compiled  # type: ignore[untyped-decorator]
def push(at: Array, ids: Array, size: int, time_s: float, one: int) -> int:
    """Add one; the new size."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if at[parent] <= time_s:
            break
        at[hole] = at[parent]
        ids[hole] = ids[parent]
        hole = parent
    at[hole] = time_s
    ids[hole] = one
    return size + 1


@compiled  # type: ignore[untyped-decorator]
def drop_first(at: Array, ids: Array, size: int) -> int:
    """Take the first away; the new size."""
    size -= 1
    time_s, one = at[size], ids[size]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and at[child + 1] < at[child]:
            child += 1
        if at[child] >= time_s:
            break
        at[hole] = at[child]
        ids[hole] = ids[child]
        hole = child
    at[hole] = time_s
    ids[hole] = one
    return size
