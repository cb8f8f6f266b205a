"""A backtest shows each model only its past, and scores only what is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import InputError
from prewarm.forecast.backtest import FEWEST_BEFORE, Plan, backtest
from prewarm.forecast.batch import ForecastBatch, Levels, Said, sane
from prewarm.forecast.metrics import Costs
from prewarm.forecast.series import SeriesBatch
from tests.forecast.made import batch_of

COSTS = Costs(1.0, 0.1)


@dataclass
class Says:
    """Answers a fixed number and remembers what it was shown."""

    value: float
    name: str = "says"
    shown: list[SeriesBatch] = field(default_factory=list)

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        self.shown.append(batch)
        mean = np.full((batch.values.shape[0], steps), self.value)
        quantiles = np.repeat(mean[..., None], len(levels), axis=2)
        return sane(Said(self.name, ""), levels, mean=mean, quantiles=quantiles, p_at_least=np.zeros((*mean.shape, 4)))


def test_origins_end_with_the_history_and_leave_a_past_to_learn_from() -> None:
    assert Plan(steps=10, folds=3).origins(100) == (70, 80, 90)
    assert Plan(steps=10, folds=3, stride=20).origins(100) == (50, 70, 90)
    assert Plan(steps=10, folds=9).origins(30) == (10, 20)
    assert Plan(steps=10, folds=9).origins(15) == ()


@given(st.integers(0, 5_000), st.integers(1, 2_000))
def test_a_suited_plan_never_asks_for_more_than_there_is(length: int, steps: int) -> None:
    plan = Plan.suited(length, steps)
    assert all(FEWEST_BEFORE <= origin <= length - plan.steps for origin in plan.origins(length))
    assert plan.steps <= max(1, steps)
    if length >= 32:
        assert len(plan.origins(length)) == 8


def test_a_model_sees_only_what_lies_before_each_origin() -> None:
    model = Says(0.0)
    backtest(batch_of(np.arange(40.0)), [model], Plan(steps=5, folds=3), costs=COSTS)
    assert sorted(int(shown.values.max()) for shown in model.shown) == [24, 29, 34]


def test_a_sliding_window_bounds_what_is_seen() -> None:
    model = Says(0.0)
    tested = backtest(batch_of(np.arange(40.0)), [model], Plan(steps=5, folds=2, window=7), costs=COSTS)
    assert {shown.values.shape[1] for shown in model.shown} == {7}
    assert (tested.span_s, tested.folds) == (600.0, 2)


def test_costs_are_those_of_the_pool_that_the_forecast_would_have_kept() -> None:
    busy, idle = np.full(40, 2.0), np.zeros(40)
    tested = backtest(batch_of(busy, idle), [Says(1.0, "one"), Says(2.0, "two")], Plan(steps=5, folds=2), costs=COSTS)
    np.testing.assert_allclose(tested.costs(), [[1.0, 0.0], [0.1, 0.2]])
    assert tested.scores["one"].mae.tolist() == [1.0, 1.0]


def test_unknown_steps_are_not_scored_and_a_history_too_short_gives_no_score() -> None:
    values = np.full(40, 2.0)
    values[-5:] = np.nan
    tested = backtest(batch_of(values), [Says(2.0)], Plan(steps=5, folds=2), costs=COSTS)
    assert tested.scores["says"].steps.tolist() == [5.0]
    short = backtest(batch_of([1.0, 2.0]), [Says(2.0)], Plan(), costs=COSTS)
    assert np.isnan(short.costs()).all()
    assert short.span_s == 0.0


def test_a_model_that_runs_out_of_time_keeps_the_newest_folds() -> None:
    allowed = iter([True, True, False])
    model = Says(0.0)
    tested = backtest(
        batch_of(np.arange(60.0)), [model], Plan(steps=5, folds=6), costs=COSTS, go_on=lambda _: next(allowed)
    )
    assert [int(shown.values.max()) for shown in model.shown] == [54, 49]
    assert tested.scores["says"].steps.tolist() == [10.0]


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"folds": 0}, {"stride": -1}, {"window": -5}])
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be 1 or more"):
        Plan(**wrong)
