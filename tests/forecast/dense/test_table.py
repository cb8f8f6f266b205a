"""What is learned from: known minutes only, weighed by what a miss costs."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.forecast.dense.root import DAY, rooted
from prewarm.forecast.dense.table import Panel, Table, day_refits, day_rows, naive_miss, table_of
from tests.forecast.dense.made_dense import timers

FIRST = 9 * DAY


def panel(known_share: float = 1.0) -> Panel:
    roots = rooted(np.stack([timers(10, seed=1), timers(10, seed=2, level=200.0)]))
    known = np.random.default_rng(0).random(roots.shape) < known_share
    return Panel.of(roots, known)


def made(one: Panel) -> Table:
    refits = day_refits(one, FIRST, (5,))
    return table_of(one, day_rows(one, refits, 5), FIRST)


def test_outcomes_are_the_roots_in_the_rows_units() -> None:
    one = panel()
    rows = day_rows(one, day_refits(one, FIRST, (5,)), 5)
    table = table_of(one, rows, FIRST)
    np.testing.assert_allclose(
        table.outcome[:DAY] * rows[0].scale + rows[0].profile, one.pasts[0].root[FIRST : FIRST + DAY]
    )


def test_unknown_minutes_teach_nothing() -> None:
    one = panel(0.7)
    assert len(made(one).outcome) == one.known[:, FIRST : FIRST + DAY].sum()


def test_series_of_different_size_weigh_about_the_same() -> None:
    """The weighted normalised noise of a large and a small series comes to like losses."""
    table = made(panel())
    losses = [float((table.weight[s] * np.abs(table.outcome[s])).mean()) for s in (slice(0, DAY), slice(DAY, 2 * DAY))]
    assert 0.5 < losses[0] / losses[1] < 2.0


def test_the_naive_miss_is_that_of_the_day_before() -> None:
    root = np.repeat(np.sqrt([4.0, 7.0, 5.0]), DAY)
    assert naive_miss(root, 3 * DAY) == pytest.approx((3.0 + 2.0) / 2)


def test_a_series_that_repeats_exactly_has_a_small_miss_not_none() -> None:
    assert naive_miss(np.ones(3 * DAY), 3 * DAY) > 0


def test_joined_tables_stand_below_each_other() -> None:
    table = made(panel())
    joined = Table.joined([table, table])
    assert joined.values.shape == (4 * DAY, table.values.shape[1])
    np.testing.assert_array_equal(joined.outcome[: 2 * DAY], table.outcome)
