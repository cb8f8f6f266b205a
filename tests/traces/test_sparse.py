"""Sparse rows against a dictionary: any order, any days, any duplicates."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.traces.sparse import SparseGrower, SparseRows, sum_equal_minutes

ROW = st.tuples(st.integers(0, 5), st.dictionaries(st.integers(0, 30), st.integers(1, 9), max_size=6))


def as_dict(rows: SparseRows) -> dict[tuple[int, int], float]:
    owner = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
    keys = list(zip(owner.tolist(), rows.minute.tolist(), strict=True))
    assert keys == sorted(set(keys))
    return dict(zip(keys, rows.value.tolist(), strict=True))


@given(st.lists(ROW, max_size=12), st.integers(0, 3))
def test_rows_in_any_order_become_sorted_sums(rows: list[tuple[int, dict[int, int]]], start: int) -> None:
    grower = SparseGrower()
    expected: dict[tuple[int, int], float] = defaultdict(float)
    for function, cells in rows:
        minutes = np.array(sorted(cells), dtype=np.int64) + start
        grower.add(function, minutes, np.array([cells[minute] for minute in sorted(cells)], dtype=np.float32))
        for minute, value in cells.items():
            expected[function, minute] += value
    assert as_dict(grower.finish(6, start)) == expected


def test_rows_that_are_already_in_order_are_not_copied() -> None:
    indptr = np.array([0, 2, 2, 3], dtype=np.int64)
    rows = SparseRows(indptr, np.array([4, 9, 1], dtype=np.int32), np.array([1, 2, 3], dtype=np.float32))
    assert sum_equal_minutes(rows) is rows


def test_unknown_plus_known_is_unknown() -> None:
    grower = SparseGrower()
    grower.add(0, np.array([3, 5]), np.array([np.nan, 1], dtype=np.float32))
    grower.add(0, np.array([3, 5]), np.array([2, 1], dtype=np.float32))
    rows = grower.finish(1, 0)
    assert rows.minute.tolist() == [3, 5]
    assert np.isnan(rows.value[0])
    assert rows.value[1] == 2


@pytest.mark.parametrize("entries", [0, 1, 1023, 1024, 1025, 5000])
def test_buffers_grow_past_any_size(entries: int) -> None:
    grower = SparseGrower()
    grower.add(0, np.arange(entries), np.ones(entries, dtype=np.float32))
    rows = grower.finish(2, 0)
    assert rows.indptr.tolist() == [0, entries, entries]
    assert rows.value.sum() == entries


def test_no_row_at_all_gives_empty_functions() -> None:
    rows = SparseGrower().finish(3, 0)
    assert rows.indptr.tolist() == [0, 0, 0, 0]
    assert len(rows.minute) == len(rows.value) == 0
