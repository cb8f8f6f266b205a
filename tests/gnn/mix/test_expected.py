"""Forecasts of a rule's own, and what the best sets would be expected to cost."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.mix.bound.expected import expected_best, never_two
from gnn.mix.expected.own import counted, kept_alive
from gnn.mix.state import DELAY_PRICE_PER_S, holding_cost
from prewarm.domain import COLD_COST
from tests.gnn.mix.builders import Tiny


def test_kept_alive_for_so_many_minutes_after_a_call_and_not_before_it() -> None:
    counts = np.zeros((2, 8), np.float32)
    counts[0, 2] = 5.0
    assert kept_alive(counts, 3)[0].tolist() == [0, 0, 0, 1, 1, 1, 0, 0]
    assert not kept_alive(counts, 3)[1].any()


def test_a_share_of_minutes_knows_the_past_only_and_forgets_it() -> None:
    counts = np.zeros((1, 400), np.float32)
    counts[0, :200] = 1.0
    told = counted(counts, 30.0)[0]
    assert told[0] < 0.05
    assert told[199] > 0.9
    assert told[230] == pytest.approx(0.5, abs=0.02)
    other = counts.copy()
    other[0, 300:] = 7.0
    assert (counted(other, 30.0)[0, :301] == told[:301]).all()


def test_the_best_set_of_a_sure_function_is_what_its_holding_and_delay_cost() -> None:
    """One call a minute, always foreseen: kept in the cheap cluster, 1 ms or 20 ms away at even chances of the mix."""
    world = Tiny([[(1, 0)] * 6]).world()
    expected = expected_best(world, np.ones((1, 6), np.float32))[0]
    hold = float(holding_cost(np.ones(1))[0])
    used = hold * 6.0 / 60.0  # a call runs 6 s of the minute
    delay = DELAY_PRICE_PER_S * (0.5 * 0.001 + 0.5 * 0.020)
    first = COLD_COST * 1.0
    assert 6 * (hold - used + delay) <= expected + 0.02
    assert expected <= 6 * (hold - used + delay) + first


def test_never_two_looks_at_the_whole_day() -> None:
    world = Tiny([[(1, 0), (25, 0)], [(10, 0), (9, 0)]]).world()
    assert never_two(world).tolist() == [False, True]
