"""Raw rows become a grid on which unknown is not zero, and all that was odd is one line."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import InputError
from prewarm.forecast.series import MAX_SLOTS, Series, SeriesBatch, clean_rows

MONDAY = 1_767_571_200.0  # 2026-01-05T00:00:00Z


def test_rows_in_any_order_fill_the_grid_and_gaps_are_unknown() -> None:
    rows = [("2026-01-05T00:03:00Z", "4"), ("2026-01-05T00:00:00Z", "1"), ("2026-01-05T00:01:00Z", "2")]
    series = clean_rows(rows).series
    assert (series.start, series.step_s, series.end) == (MONDAY, 60, MONDAY + 240)
    np.testing.assert_array_equal(series.values, [1.0, 2.0, np.nan, 4.0])


def test_an_offset_names_the_same_instant_and_the_larger_of_two_values_is_kept() -> None:
    cleaning = clean_rows([("2026-01-05T00:06:00Z", "10"), ("2026-01-05T01:06:00+01:00", "14")])
    assert cleaning.series.values.tolist() == [14.0]
    assert cleaning.conflicts == (MONDAY + 360,)


def test_the_same_row_twice_counts_once() -> None:
    cleaning = clean_rows([(str(MONDAY), "3"), (str(MONDAY), "3"), (str(MONDAY + 60), "1")])
    assert cleaning.series.values.tolist() == [3.0, 1.0]
    assert (cleaning.duplicates, cleaning.conflicts) == (1, ())


def test_a_value_beats_a_blank_at_the_same_instant_whichever_comes_first() -> None:
    for pair in (("", "5"), ("5", "")):
        cleaning = clean_rows([(str(MONDAY), value) for value in pair])
        assert cleaning.series.values.tolist() == [5.0]
        assert cleaning.conflicts == ()


def test_instants_within_a_slot_are_added_since_values_are_counts() -> None:
    rows = [(str(MONDAY + s), "1") for s in (0, 10, 20, 60, 119)]
    assert clean_rows(rows, step_s=60).series.values.tolist() == [3.0, 2.0]


def test_the_commonest_distance_is_the_step() -> None:
    rows = [(str(MONDAY + s), "1") for s in (0, 300, 600, 1500, 1560)]
    assert clean_rows(rows).series.step_s == 300


def test_a_single_row_gets_minutes() -> None:
    assert clean_rows([(str(MONDAY), "2")]).series.step_s == 60


@pytest.mark.parametrize(
    ("row", "why"),
    [
        pytest.param(("yesterday", "1"), "timestamp: must be an RFC 3339 time", id="no-time"),
        pytest.param(("2026-01-05T00:00:00", "1"), "timestamp: needs a zone", id="no-zone"),
        pytest.param((str(MONDAY), "many"), "value: must be a number", id="no-number"),
        pytest.param((str(MONDAY), "-1"), "value: must be 0 or more", id="negative"),
        pytest.param((str(MONDAY), "inf"), "value: must be 0 or more and finite", id="infinite"),
        pytest.param(("1e300", "1"), "timestamp: must be RFC 3339 or seconds", id="no-date-ever"),
    ],
)
def test_a_row_that_cannot_be_read_is_counted_and_named(row: tuple[str, str], why: str) -> None:
    good = (str(MONDAY + 60), "1")
    cleaning = clean_rows([row, good], first_line=2)
    assert cleaning.series.values.tolist() == [1.0]
    assert cleaning.rejected[0][0] == 2
    assert why in cleaning.rejected[0][1]
    assert cleaning.warning is not None
    assert "first: line 2" in cleaning.warning
    with pytest.raises(InputError, match="no row could be used; line 1"):
        clean_rows([row])


def test_everything_odd_is_one_line() -> None:
    rows = [(str(MONDAY), "1"), (str(MONDAY), "2"), (str(MONDAY + 60), "1"), (str(MONDAY + 60), "1")]
    rows += [("x", "1"), (str(MONDAY + 240), "1"), (str(MONDAY + 120), "1")]
    warning = clean_rows(rows, name="cart").warning
    assert warning is not None
    assert warning.count("\n") == 0
    for part in ("cart:", "1 rows rejected", "1 conflicting", "1 rows repeated", "1 of 5 steps unknown"):
        assert part in warning


def test_a_clean_series_has_no_warning() -> None:
    assert clean_rows([(str(MONDAY), "1"), (str(MONDAY + 60), "0")]).warning is None


def test_a_mistyped_year_is_refused_instead_of_filling_memory() -> None:
    with pytest.raises(InputError, match=f"at most {MAX_SLOTS}"):
        clean_rows([(str(MONDAY), "1"), (str(MONDAY + 60), "1"), (str(MONDAY + 60 * 2e6), "1")])


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 9)), min_size=1, max_size=60),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_does_not_matter(given_rows: list[tuple[int, int]], random: object) -> None:
    rows = [(str(MONDAY + 60 * slot), str(value)) for slot, value in given_rows]
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = clean_rows(rows, step_s=60).series, clean_rows(shuffled, step_s=60).series
    np.testing.assert_array_equal(first.values, second.values)
    largest = max(value for _, value in given_rows)
    assert np.nanmax(first.values) == largest
    assert int((~np.isnan(first.values)).sum()) == len({slot for slot, _ in given_rows})


def test_a_batch_aligns_ends_and_pads_what_was_before_with_unknown() -> None:
    long = Series(np.array([1.0, 2.0, 3.0]), 60, 0.0, "a")
    short = Series(np.array([9.0]), 60, 120.0, "b")
    batch = SeriesBatch.of([long, short])
    assert batch.start == 0.0
    assert math.isnan(batch.values[1, 0])
    assert batch.values[1, 2] == 9.0
    assert batch.end == 180.0


def test_a_batch_of_different_ends_or_steps_is_refused() -> None:
    one = Series(np.array([1.0]), 60, 0.0, "a")
    with pytest.raises(InputError, match="b: step and end"):
        SeriesBatch.of([one, Series(np.array([1.0]), 60, 60.0, "b")])
    with pytest.raises(InputError, match="b: step and end"):
        SeriesBatch.of([one, Series(np.array([1.0]), 30, 30.0, "b")])


def test_the_past_of_a_batch_ends_where_it_is_cut() -> None:
    batch = SeriesBatch.of([Series(np.arange(10.0), 60, 600.0, "a")])
    cut = batch.until(7, window=3)
    assert cut.values.tolist() == [[4.0, 5.0, 6.0]]
    assert (cut.start, cut.end) == (600.0 + 240.0, 600.0 + 420.0)
    assert batch.until(2, window=50).values.tolist() == [[0.0, 1.0]]


@given(st.lists(st.tuples(st.text(max_size=24), st.none() | st.floats() | st.text(max_size=8)), max_size=12))
def test_no_rows_break_the_reader(rows: list[tuple[str, str | float | None]]) -> None:
    try:
        cleaning = clean_rows(rows)
    except InputError as refused:
        assert len(str(refused).splitlines()) == 1
        return
    known = cleaning.series.values[~np.isnan(cleaning.series.values)]
    assert (known >= 0).all()
    assert np.isfinite(known).all()


@pytest.mark.parametrize("when", ["9999-12-31T23:59:00Z", "0001-01-01T00:00:00Z", "9e10", "inf", "nan"])
def test_a_time_at_the_edge_of_the_calendar_is_a_broken_row(when: str) -> None:
    """A forecast behind it would have no date."""
    cleaning = clean_rows([(when, "5"), (str(MONDAY), "2")])
    assert cleaning.series.values.tolist() == [2.0]
    assert len(cleaning.rejected) == 1
