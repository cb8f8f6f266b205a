"""Grows the sparse rows of a trace while a file streams by, one row of a matrix at a time.

Values go into typed buffers that grow with them, so a read costs what its non-zero cells do. Rows may come
in any order, the same function may come again (another day, or a duplicate): `finish` puts functions and minutes in
order and adds what falls on the same minute.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import Float32Array, Int32Array, IntArray


class _Buffer:
    """A typed array that grows by half of its size at a time."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._values = np.empty(1024, dtype)
        self._used = 0

    def extend(self, values: NDArray[np.generic]) -> None:
        end = self._used + len(values)
        if end > len(self._values):
            grown = np.empty(max(end, len(self._values) * 3 // 2), self._values.dtype)
            grown[: self._used] = self._values[: self._used]
            self._values = grown
        self._values[self._used : end] = values
        self._used = end

    def taken(self) -> NDArray[np.generic]:
        return self._values[: self._used]


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """indptr (n+1,), minute (nnz,) rising within a row, value (nnz,)."""

    indptr: IntArray
    minute: Int32Array
    value: Float32Array


class SparseGrower:
    """Collects (function, minutes, values) rows; minutes of a row rise and are given once each."""

    def __init__(self) -> None:
        self._minute = _Buffer(np.int32)
        self._value = _Buffer(np.float32)
        self._function = array("i")
        self._length = array("i")

    def add(self, function: int, minute: IntArray | Int32Array, value: NDArray[np.generic]) -> None:
        """One row of the matrix: rising minutes and their values; NaN means unknown."""
        self._minute.extend(minute)
        self._value.extend(value)
        self._function.append(function)
        self._length.append(len(minute))

    def finish(self, functions: int, start: int) -> SparseRows:
        """Rows in order, minutes relative to `start`, equal minutes of a function added up."""
        owner = np.array(self._function, dtype=np.int64)
        length = np.array(self._length, dtype=np.int64)
        all_minutes, all_values = self._minute.taken(), self._value.taken()
        begin = np.cumsum(length) - length
        first = np.zeros(len(length), dtype=np.int64)
        first[length > 0] = all_minutes[begin[length > 0]]
        minute = np.empty(len(all_minutes), dtype=np.int32)
        value = np.empty(len(all_minutes), dtype=np.float32)
        filled = 0
        for row in np.lexsort((first, owner)):
            source = slice(begin[row], begin[row] + length[row])
            target = slice(filled, filled + length[row])
            minute[target], value[target] = all_minutes[source], all_values[source]
            filled += length[row]
        minute -= np.int32(start)
        per_function = np.zeros(functions, dtype=np.int64)
        np.add.at(per_function, owner, length)
        indptr = np.concatenate(([0], np.cumsum(per_function)))
        return sum_equal_minutes(SparseRows(indptr, minute, value))


def sum_equal_minutes(rows: SparseRows) -> SparseRows:
    """The same rows with minutes sorted and equal ones added up; a NaN makes the sum NaN. No copy if already so."""
    owner_changes = np.zeros(len(rows.minute), dtype=bool)
    inner = rows.indptr[(rows.indptr > 0) & (rows.indptr < len(rows.minute))]
    owner_changes[inner] = True
    if len(rows.minute) < 2 or bool((np.diff(rows.minute) > 0)[~owner_changes[1:]].all()):
        return rows
    owner = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
    order = np.lexsort((rows.minute, owner))
    owner, minute, value = owner[order], rows.minute[order], rows.value[order]
    fresh = np.concatenate(([True], (np.diff(owner) != 0) | (np.diff(minute) != 0)))
    starts = np.flatnonzero(fresh)
    lengths = np.bincount(owner[starts], minlength=len(rows.indptr) - 1)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    sums = np.add.reduceat(value.astype(np.float64), starts).astype(np.float32)
    return SparseRows(indptr, minute[starts].astype(np.int32), sums)
