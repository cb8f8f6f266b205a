"""Trees of known shape: found again, read aloud, and no larger than allowed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.tree import Tree, grow
from prewarm.domain import FloatArray


def steps(rows: FloatArray) -> FloatArray:
    """Two thresholds on the first number, and one on the second where the first is small."""
    first, second = rows[:, 0], rows[:, 1]
    one = np.where(first > 2.0, 1.0, np.where(second > 0.5, -1.0, 0.0))
    wanted: FloatArray = np.column_stack([one, -2.0 * one])
    return wanted


def drawn(many: int, seed: int = 0) -> FloatArray:
    """Rows of three numbers, the last of which says nothing."""
    rows: FloatArray = np.random.default_rng(seed).random((many, 3)) * np.array([4.0, 1.0, 1.0])
    return rows


def test_thresholds_are_found_where_they_are() -> None:
    rows = drawn(400)
    tree = grow(rows, steps(rows), ("first", "second", "noise"), leaves=3)
    fresh = drawn(300, seed=1)
    found = np.array([tree.answer(row) for row in fresh])
    near = (np.abs(fresh[:, 0] - 2.0) < 0.05) | (np.abs(fresh[:, 1] - 0.5) < 0.02)
    assert found[~near] == pytest.approx(steps(fresh)[~near])
    assert tree.leaves == 3
    limits = {node.feature: node.limit for node in tree.nodes if node.feature is not None}
    assert limits == {0: pytest.approx(2.0, abs=0.05), 1: pytest.approx(0.5, abs=0.02)}


def test_it_is_read_as_sentences() -> None:
    rows = np.array([[0.0], [0.0], [1.0], [1.0]])
    wanted = np.array([[0.5, 0.01], [0.5, 0.01], [0.0, 0.0], [0.0, 0.0]])
    tree = grow(rows, wanted, ("calls/s",), leaves=2, least=1)
    assert list(tree.lines(("price", "fit"))) == [
        "calls/s <= 0.5",
        "  price +0.50 (2 questions)",
        "calls/s > 0.5",
        "  as the rule (2 questions)",
    ]


def squared_error(tree: Tree, rows: FloatArray, wanted: FloatArray) -> float:
    """Over all rows."""
    return float(((np.array([tree.answer(row) for row in rows]) - wanted) ** 2).sum())


@given(st.integers(0, 1_000), st.integers(1, 12), st.integers(1, 20))
def test_it_is_as_small_as_told_and_more_leaves_are_never_worse(seed: int, leaves: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    rows, wanted = rng.integers(0, 5, (40, 2)).astype(np.float64), rng.random((40, 2))
    names = ("a", "b")
    tree, larger = (grow(rows, wanted, names, leaves=many, least=least) for many in (leaves, leaves + 1))
    assert tree.leaves <= leaves
    assert all(node.rows >= least for node in tree.nodes[1:])
    assert sum(node.rows for node in tree.nodes if node.feature is None) == 40
    assert squared_error(larger, rows, wanted) <= squared_error(tree, rows, wanted) + 1e-9


def test_what_is_the_same_everywhere_is_not_split() -> None:
    assert grow(drawn(50), np.ones((50, 2)), ("a", "b", "c"), leaves=8).leaves == 1
