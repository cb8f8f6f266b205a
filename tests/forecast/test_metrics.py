"""The measures, on numbers that one can check by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.forecast.metrics import Costs, Scores, absolute_error, covered, newsvendor, pinball, score


@pytest.mark.parametrize(
    ("actual", "said", "level", "loss"),
    [
        pytest.param(10.0, 8.0, 0.9, 1.8, id="too-low-is-dear-at-a-high-level"),
        pytest.param(8.0, 10.0, 0.9, 0.2, id="too-high-is-cheap-at-a-high-level"),
        pytest.param(8.0, 10.0, 0.5, 1.0, id="half-the-error-at-the-median"),
        pytest.param(5.0, 5.0, 0.1, 0.0, id="exact"),
    ],
)
def test_pinball_loss(actual: float, said: float, level: float, loss: float) -> None:
    assert pinball(np.array([actual]), np.array([[said]]), (level,))[0] == pytest.approx(loss)


@given(st.lists(st.floats(0, 100), min_size=5, max_size=40), st.sampled_from([0.1, 0.5, 0.9]))
def test_the_sample_quantile_has_the_least_pinball_loss(sample: list[float], level: float) -> None:
    actual = np.array(sample)
    best = float(np.quantile(actual, level, method="inverted_cdf"))

    def loss(said: float) -> float:
        return float(pinball(actual, np.full((len(actual), 1), said), (level,)).mean())

    assert loss(best) <= min(loss(best + 1.0), loss(best - 1.0)) + 1e-9


def test_costs_of_missing_and_idle_instances_count_whole_ones() -> None:
    costs = Costs(cold=0.8, idle=0.1)
    cost = newsvendor(np.array([3.0, 1.0, 2.0, 0.4]), np.array([1.0, 4.0, 1.2, 0.0]), costs)
    np.testing.assert_allclose(cost, [1.6, 0.3, 0.0, 0.8])
    assert costs.level == pytest.approx(8 / 9)


def test_unknown_outcomes_are_neither_right_nor_wrong() -> None:
    actual = np.array([[1.0, np.nan, 5.0]])
    inside = covered(actual, np.zeros((1, 3)), np.full((1, 3), 2.0))
    np.testing.assert_array_equal(inside, [[1.0, np.nan, 0.0]])
    assert np.isnan(absolute_error(actual, np.zeros((1, 3)))[0, 1])


def test_scores_add_up_over_folds_and_leave_out_what_is_unknown() -> None:
    levels = (0.1, 0.9)

    def scored(actual: list[float]) -> Scores:
        values = np.array([actual])
        quantiles = np.broadcast_to(np.array([0.0, 2.0]), (1, len(actual), 2)).astype(np.float64)
        mean, kept = np.ones_like(values), np.full_like(values, 2.0)
        return score(values, mean, quantiles, levels=levels, kept=kept, costs=Costs(1.0, 0.1))

    both = scored([1.0, np.nan]).plus(scored([4.0, 2.0]))
    assert both.steps.tolist() == [3.0]
    assert both.mae.item() == pytest.approx((0 + 3 + 1) / 3)
    assert both.coverage.item() == pytest.approx(2 / 3)
    assert both.cost.item() == pytest.approx((0.1 + 2.0 + 0.0) / 3)
    assert both.pinball.item() > 0


def test_nothing_scored_is_no_score() -> None:
    empty = Scores.none(2)
    for figure in (empty.pinball, empty.mae, empty.coverage, empty.cost):
        assert np.isnan(figure).all()
