"""The bench's own arithmetic: intervals in pairs, goals, and that a bound above a policy is no bound."""

from __future__ import annotations

import numpy as np
import pytest

from gnn.bench.serverless_mix import Measured, check_bounds, goals_of, paired_gain
from gnn.mix.replay import Outcome
from prewarm.domain import COLD_COST, PrewarmError


def measured(name: str, *costs: float) -> Measured:
    outcomes = []
    for cost in costs:
        ledger = np.array([[cost / COLD_COST, 0.0, 0.0, 0.0]])
        outcomes.append(Outcome(ledger, ledger, np.ones(5)))
    return Measured(name, tuple(outcomes))


def test_a_gain_is_taken_over_the_same_worlds() -> None:
    rule = np.array([100.0, 300.0, 200.0])
    low, gain, high = paired_gain(0.9 * rule, rule, np.random.default_rng(0))
    assert (low, gain, high) == pytest.approx((0.1, 0.1, 0.1))
    low, gain, high = paired_gain(np.array([120.0, 280.0, 200.0]), rule, np.random.default_rng(0))
    assert gain == pytest.approx(0.0)
    assert low < 0 < high


def test_without_a_learned_policy_both_goals_are_missed() -> None:
    goals = goals_of(None, np.full(3, 100.0), np.full(3, 80.0), 0)
    assert [(goal.name, goal.value, goal.met) for goal in goals] == [
        ("j_vs_rule", None, False),
        ("interval_low", None, False),
    ]


@pytest.mark.parametrize(("clairvoyant", "target"), [(80.0, 0.06), (92.0, 0.04)])
def test_the_goal_is_six_per_cent_or_half_the_way_to_the_clairvoyant_placement(
    clairvoyant: float, target: float
) -> None:
    rule = np.full(4, 100.0)
    learned = measured("learned", 95.0, 95.0, 95.0, 95.0)
    goals = goals_of(learned, rule, np.full(4, clairvoyant), 0)
    assert goals[0].target == pytest.approx(target)
    assert goals[0].value == pytest.approx(0.05)
    assert goals[0].met is (target <= 0.05)
    assert goals[1].met


def test_a_gain_that_may_be_none_misses_the_interval() -> None:
    learned = measured("learned", 120.0, 70.0)
    goals = goals_of(learned, np.full(2, 100.0), np.full(2, 50.0), 0)
    assert not goals[1].met


def test_a_policy_below_the_bound_stops_the_bench() -> None:
    check_bounds(np.array([10.0, 20.0]), [measured("fine", 10.0, 20.5)])
    with pytest.raises(PrewarmError, match="cheat costs less than the bound on world 1"):
        check_bounds(np.array([10.0, 20.0]), [measured("cheat", 15.0, 19.0)])
