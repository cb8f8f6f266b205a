"""The parts of the planner alone: rounding, fair parts, prices of room."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.pools.question import seeds_of
from federation.pools.scarcity import room_prices
from federation.pools.share import fair_part
from federation.pools.targets import in_order, round_exactly, shares, ties
from tests.federation.pools.made import ints


@given(st.integers(0, 500), st.lists(st.integers(0, 1_000), min_size=1, max_size=8), st.integers(0, 999))
@settings(max_examples=100, deadline=None)
def test_rounding_keeps_the_total_and_the_quota(total: int, weights: list[int], seed: int) -> None:
    part = np.array([weights]) / max(sum(weights), 1)
    tie = np.random.default_rng(seed).random(part.shape)
    whole = round_exactly(ints([total]), part, tie)[0]

    assert whole.sum() == (total if sum(weights) > 0 else 0)
    assert (np.abs(whole - total * part[0]) < 1 + 1e-6).all()
    assert not whole[part[0] == 0].any()


def test_equal_remainders_go_by_tie_not_by_place() -> None:
    part = np.full((1, 3), 1 / 3)

    assert round_exactly(ints([10]), part, np.array([[0.1, 0.9, 0.5]])).tolist() == [[3, 4, 3]]
    assert round_exactly(ints([11]), part, np.array([[0.1, 0.9, 0.5]])).tolist() == [[3, 4, 4]]


def test_ties_depend_on_names_alone_and_spread_evenly() -> None:
    rows, columns = seeds_of([f"a/f{i}" for i in range(400)]), seeds_of(["x", "y", "z"])
    tie = ties(rows, columns)

    assert (ties(rows[::-1], columns[[2, 0, 1]]) == tie[::-1][:, [2, 0, 1]]).all()
    assert ((tie >= 0) & (tie < 1)).all()
    first = np.bincount(tie.argmax(axis=1), minlength=3)
    assert (first > 100).all()


def test_shares_of_a_row_without_a_usable_cluster_are_zero() -> None:
    usable = np.array([[False, False], [True, False], [True, True]])
    part = shares(np.array([[5.0, 1.0]] * 3), usable, np.array([0.0, 0.7, 0.0]))

    assert part.tolist() == [[0, 0], [1, 0], [1, 0]]


def test_shares_at_low_temperatures_do_not_overflow() -> None:
    part = shares(np.array([[900.0, -900.0, 899.0]]), np.ones((1, 3), dtype=np.bool_), np.array([1e-3]))

    assert part.tolist() == [[1, 0, 0]]


def test_taking_goes_by_key_and_no_further_than_there_is() -> None:
    taken = in_order(ints([4, 9]), ints([[1, 2, 3], [1, 2, 3]]), np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]))

    assert taken.tolist() == [[1, 0, 3], [1, 2, 3]]


@given(st.integers(0, 2**31), st.integers(1, 15), st.integers(0, 120))
@settings(max_examples=100, deadline=None)
def test_fair_parts_are_those_of_taking_one_by_one_in_rank(seed: int, askers: int, room: int) -> None:
    rng = np.random.default_rng(seed)
    asked, has = rng.integers(0, 12, askers), rng.integers(0, 4, askers)
    wants, tie = asked + has, rng.random(askers)
    got = fair_part(asked, np.ones(askers, dtype=np.int64), has=has, wants=wants, tie=tie, room=room)

    units = sorted(((has[i] + k) / max(wants[i], 1), tie[i], i) for i in range(askers) for k in range(int(asked[i])))[
        :room
    ]
    expected = np.bincount([i for _, _, i in units], minlength=askers)
    assert got.tolist() == expected.tolist()


def test_fair_parts_of_unlike_sizes_fit_and_leave_no_hole_for_the_next_in_rank() -> None:
    got = fair_part(ints([3, 3]), ints([4, 1]), has=ints([0, 0]), wants=ints([3, 3]), tie=np.array([0.2, 0.1]), room=9)

    assert got.tolist() == [1, 2]


def test_room_has_no_price_where_everybody_fits() -> None:
    value = np.array([[1.0, 0.0], [0.0, 1.0]])
    price = room_prices(value, ints([5, 5]), ints([1, 1]), room=ints([5, 5]), seed=seeds_of(["a", "b"]))

    assert price.tolist() == [0, 0]


def test_a_price_turns_just_those_away_who_have_a_near_second() -> None:
    seconds = np.linspace(0.0, 0.98, 50)
    value = np.stack([np.ones(50), seconds], axis=1)
    price = room_prices(
        value, ints([10] * 50), ints([1] * 50), room=ints([250, 400]), seed=seeds_of([str(i) for i in range(50)])
    )

    stays = value[:, 0] - price[0] > value[:, 1] - price[1]
    assert stays.sum() == pytest.approx(25, abs=3)
    assert price[1] == 0


def test_prices_of_a_fleet_that_is_too_small_are_finite() -> None:
    price = room_prices(
        np.array([[1.0, 0.5], [1.0, -np.inf]]),
        ints([50, 50]),
        ints([1, 1]),
        room=ints([0, 1]),
        seed=seeds_of(["a", "b"]),
    )

    assert np.isfinite(price).all()
