"""An over-confident forecaster is made honest by what came of its earlier forecasts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from prewarm.domain import FloatArray
from prewarm.forecast.backtest import Plan
from prewarm.forecast.batch import ForecastBatch, Levels, Said, sane
from prewarm.forecast.calibrated import Calibrated
from prewarm.forecast.series import SeriesBatch
from tests.forecast.made import MONDAY, batch_of

LEVELS = (0.05, 0.5, 0.95)


@dataclass
class Sure:
    """Says `mean` with next to no spread, a call with chance `p`, and counts how often it is asked."""

    mean: float = 20.0
    p: float = 0.999
    name: str = "sure"
    asked: int = 0

    def predict(self, batch: SeriesBatch, steps: int, levels: Levels) -> ForecastBatch:
        self.asked += 1
        n = len(batch.names)
        mean = np.full((n, steps), self.mean)
        quantiles = self.mean + np.broadcast_to(np.asarray(levels) - 0.5, (n, steps, len(levels)))
        return sane(
            Said(self.name, "sure"), levels, mean=mean, quantiles=quantiles, p_at_least=np.full((n, steps, 4), self.p)
        )


def noisy(n: int, length: int, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).normal(20, 4, (n, length)).clip(min=0.1)


def test_quantiles_of_a_dense_function_get_their_coverage() -> None:
    values = noisy(30, 700)
    batch = SeriesBatch(values[:, :600], 60, MONDAY, tuple(map(str, range(30))))
    answer = Calibrated(Sure(), Plan(steps=15, folds=20)).predict(batch, 100, LEVELS)
    coming = values[:, 600:]
    inside = ((coming >= answer.quantiles[..., 0]) & (coming <= answer.quantiles[..., 2])).mean()
    assert inside == pytest.approx(0.9, abs=0.03)
    assert answer.reasons[0] == "sure"


def test_quantiles_are_made_from_the_past_of_each_function_alone() -> None:
    wide, narrow = noisy(1, 400)[0], np.full(400, 20.0)
    answer = Calibrated(Sure(), Plan(steps=15, folds=20)).predict(batch_of(wide, narrow), 1, LEVELS)
    width = answer.quantiles[:, 0, 2] - answer.quantiles[:, 0, 0]
    assert width[0] > 10
    assert width[1] == pytest.approx(0.0, abs=1e-9)


def test_over_confident_chances_are_mapped_to_what_happened() -> None:
    rng = np.random.default_rng(3)
    calls = (rng.uniform(size=(40, 600)) < 0.2).astype(np.float64)
    batch = SeriesBatch(calls, 60, MONDAY, tuple(map(str, range(40))))
    answer = Calibrated(Sure(mean=0.2, p=0.02), Plan(steps=15, folds=20)).predict(batch, 2, LEVELS)
    np.testing.assert_allclose(answer.p_at_least[..., 0], 0.2, atol=0.02)


def test_certainties_are_not_softened() -> None:
    rng = np.random.default_rng(3)
    calls = (rng.uniform(size=(40, 600)) < 0.2).astype(np.float64)
    batch = SeriesBatch(calls, 60, MONDAY, tuple(map(str, range(40))))
    for sure in (0.0, 1.0):
        answer = Calibrated(Sure(p=sure), Plan(steps=15, folds=20)).predict(batch, 2, LEVELS)
        assert (answer.p_at_least == sure).all()


def test_rare_demand_keeps_its_quantiles_and_few_outcomes_change_nothing_and_ask_nothing() -> None:
    rare = np.zeros(400)
    rare[::50] = 1.0
    for values, plan in ((rare, Plan(steps=15, folds=20)), (noisy(1, 60)[0], Plan(steps=5, folds=4))):
        model = Sure()
        batch = batch_of(values)
        answer = Calibrated(model, plan).predict(batch, 3, LEVELS)
        assert model.asked == 1
        np.testing.assert_array_equal(answer.quantiles, model.predict(batch, 3, LEVELS).quantiles)


def test_unknown_outcomes_are_left_out() -> None:
    values = noisy(1, 400)[0]
    values[200:300] = np.nan
    answer = Calibrated(Sure(), Plan(steps=15, folds=20)).predict(batch_of(values), 1, LEVELS)
    assert 8 < answer.quantiles[0, 0, 2] - answer.quantiles[0, 0, 0] < 20
