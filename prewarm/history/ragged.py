"""Ragged rows in flat arrays: the index arithmetic that the history's storage is made of.

A block of functions keeps each function's hits as one run of a flat array. Everything here is vectorised over the
rows, because a history has tens of thousands of them and a tick has seconds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import IntArray


def flat_index(starts: IntArray, lengths: IntArray) -> IntArray:
    """Positions of the runs `starts[i] .. starts[i] + lengths[i]`, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    index: IntArray = np.repeat(starts - (ends - lengths), lengths)
    index += np.arange(total)
    return index


def pointers(lengths: IntArray) -> IntArray:
    """CSR row pointers (n + 1) of rows with these lengths."""
    out = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out


def row_numbers(lengths: IntArray) -> IntArray:
    """The row of each element, for rows laid out one after the other."""
    numbers: IntArray = np.repeat(np.arange(lengths.size), lengths)
    return numbers


def first_at_least(values: NDArray[np.uint16], starts: IntArray, ends: IntArray, bound: int) -> IntArray:
    """For each ascending run of `values`, the first position whose value is `bound` or more (else the run's end)."""
    low, high = starts.copy(), ends.copy()
    if not values.size:
        return low
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        open_ = low < high
        below = open_ & (values[np.minimum(middle, values.size - 1)] < bound)
        low = np.where(below, middle + 1, low)
        high = np.where(open_ & ~below, middle, high)
    return low


def group_sums(keys: IntArray, *values: NDArray[np.float32]) -> tuple[IntArray, list[NDArray[np.float32]]]:
    """Sums of `values` over equal neighbours of `keys`; returns the first position of each group and the sums."""
    if not keys.size:
        return np.zeros(0, np.int64), [column[:0] for column in values]
    firsts = np.concatenate(([0], np.flatnonzero(np.diff(keys)) + 1))
    return firsts, [np.add.reduceat(column, firsts, dtype=np.float64).astype(np.float32) for column in values]
