"""What a placement costs is counted from the fleet, not from anybody's weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.snapshot import MemberState
from gnn.guard.pricing import Prices, cost, difference, shares
from prewarm.domain import COLD_COST, IDLE_COST_PER_GB_S
from tests.gnn.questions import GIB, some_shop, some_workload

BY = Prices(horizon_s=60.0)
NONE: dict[str, int] = {}


def test_each_part_of_the_price() -> None:
    shop, work = some_shop(), replace(some_workload(replicas=4), callers=())
    held = IDLE_COST_PER_GB_S * 60.0 * GIB / 1e9
    assert cost({"c0": 4}, work, before=NONE, seen=shop, by=BY) == pytest.approx(4 * COLD_COST + 4 * held)
    assert cost({"c3": 4}, work, before=NONE, seen=shop, by=BY) == pytest.approx(4 * COLD_COST + 4 * held * 1.3)
    assert cost({"c0": 4}, work, before={"c0": 3}, seen=shop, by=BY) == pytest.approx(COLD_COST + 4 * held)
    assert cost({"c0": 3}, work, before={"c0": 3}, seen=shop, by=BY) == pytest.approx(3 * held + 10.0)


def test_delay_is_that_of_the_callers() -> None:
    shop, work = some_shop(), some_workload(replicas=2)
    near, far = ({"c1": 2}, {"c2": 2})  # the callers are in eu: c1 and c3
    apart = cost(far, work, before=far, seen=shop, by=BY) - cost(near, work, before=near, seen=shop, by=BY)
    price = 0.1 * 2 * IDLE_COST_PER_GB_S * 60.0 * GIB / 1e9
    assert apart == pytest.approx(3.0 * 5.0 * 60.0 * 0.010 + price, rel=1e-6)


def test_what_went_dark_holds_nothing() -> None:
    shop, work = some_shop(), replace(some_workload(replicas=2), callers=())
    dark = replace(
        shop, clusters=tuple(replace(one, state=MemberState.DARK) if one.name == "c0" else one for one in shop.clusters)
    )
    assert cost({"c0": 2}, work, before=NONE, seen=dark, by=BY) == pytest.approx(20.0)
    assert cost({"gone": 2}, work, before=NONE, seen=shop, by=BY) == pytest.approx(20.0)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_difference_is_bounded_and_turns_with_its_sides(rule: float, learned: float) -> None:
    found = difference(rule, learned)
    assert -2.0 <= found <= 2.0
    assert found == -difference(learned, rule)
    assert (found > 0) == (rule > learned)


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 20)), min_size=1, max_size=8),
    st.integers(0, 60),
    st.sampled_from([0.0, 0.05, 1.0]),
)
def test_shares_fill_what_there_is_and_no_more(places: list[tuple[float, float]], replicas: int, heat: float) -> None:
    worth, room = np.array(places).T
    counts = shares(worth, room, replicas, temperature=heat)
    assert (counts >= 0).all()
    assert (counts <= np.floor(room)).all()
    assert counts.sum() == min(replicas, int(np.floor(room).sum()))


def test_the_best_is_filled_first_and_heat_spreads() -> None:
    worth, room = np.array([0.5, 0.9, 0.6]), np.array([5.0, 4.0, 9.0])
    assert shares(worth, room, 7, temperature=0.0).tolist() == [0, 4, 3]
    assert shares(worth, np.full(3, 99.0), 30, temperature=10.0).tolist() == [9, 12, 9]  # what is left goes to the best
