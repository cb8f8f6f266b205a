"""Forecasting many functions at once is forecasting each: what vectorisation must never change."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prewarm.domain import FloatArray
from prewarm.forecast.backtest import Plan, backtest
from prewarm.forecast.metrics import Costs
from prewarm.forecast.models import CHEAP, model_named
from prewarm.forecast.series import SeriesBatch
from tests.forecast.made import LEVELS, MONDAY, every

NAMES = [pytest.param(name, id=name) for name in CHEAP]
WEEK_S = 7 * 86_400


def fleet(seed: int, length: int) -> FloatArray:
    """Six functions of different kinds, some with unknown steps."""
    rng = np.random.default_rng(seed)
    return np.stack(
        [
            every(15, length, phase=int(rng.integers(15))),
            rng.poisson(0.05, length).astype(np.float64),
            rng.poisson(20, length).astype(np.float64),
            np.zeros(length),
            np.where(rng.uniform(size=length) < 0.3, np.nan, rng.poisson(1.0, length)),
            np.linspace(0, 50, length).round(),
        ]
    )


def batch(values: FloatArray, start: float = MONDAY) -> SeriesBatch:
    return SeriesBatch(values, 60, start, tuple(f"f{i}" for i in range(len(values))))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1_000), length=st.integers(1, 400))
def test_neighbours_do_not_change_a_functions_forecast(name: str, seed: int, length: int) -> None:
    whole = batch(fleet(seed, length))
    together = model_named(name).predict(whole, 9, LEVELS)
    for row in range(6):
        alone = model_named(name).predict(whole.rows([row]), 9, LEVELS)
        np.testing.assert_allclose(together.mean[row], alone.mean[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(together.quantiles[row], alone.quantiles[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(together.p_at_least[row], alone.p_at_least[0], rtol=1e-9, atol=1e-12)
        assert together.used[row] == alone.used[0]
        assert together.reasons[row] == alone.reasons[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_past_gives_the_same_forecast_twice_and_is_not_written_to(name: str) -> None:
    values = fleet(3, 300)
    before = values.copy()
    first, again = (model_named(name).predict(batch(values), 5, LEVELS) for _ in range(2))
    np.testing.assert_array_equal(first.quantiles, again.quantiles)
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_counts_some_weeks_later_give_the_same_forecast(name: str) -> None:
    values = fleet(5, 2 * 1_440)
    now = model_named(name).predict(batch(values), 20, LEVELS)
    later = model_named(name).predict(batch(values, MONDAY + 3 * WEEK_S), 20, LEVELS)
    np.testing.assert_allclose(now.p_at_least, later.p_at_least)
    np.testing.assert_allclose(now.quantiles, later.quantiles)


@pytest.mark.parametrize("name", NAMES)
def test_what_comes_later_is_not_known_at_an_origin(name: str) -> None:
    values = fleet(7, 360)
    other = values.copy()
    other[:, 300:] = 999.0
    for whole in (values, other):
        answer = model_named(name).predict(batch(whole).until(300), 5, LEVELS)
        reference = model_named(name).predict(batch(values[:, :300]), 5, LEVELS)
        np.testing.assert_array_equal(answer.quantiles, reference.quantiles)


@pytest.mark.parametrize("name", NAMES)
def test_more_steps_do_not_change_the_nearer_ones(name: str) -> None:
    known = batch(fleet(9, 300))
    near, far = (model_named(name).predict(known, steps, LEVELS) for steps in (5, 300))
    np.testing.assert_allclose(near.mean, far.mean[:, :5], rtol=1e-9)
    np.testing.assert_allclose(near.p_at_least, far.p_at_least[:, :5], rtol=1e-9, atol=1e-12)


def test_no_function_at_all_is_no_error_for_auto() -> None:
    answer = model_named("auto").predict(batch(np.zeros((0, 100))), 5, LEVELS)
    assert answer.quantiles.shape == (0, 5, len(LEVELS))


def exemplars(folder: Path, count: int) -> SeriesBatch:
    """A sample of the public day series, drawn with their multiplicity, as 0/1 needs."""
    with (folder / "day_sample1350_multiplicity.csv").open(newline="") as lines:
        table = list(csv.DictReader(lines))
    weight = {row["series_id"]: sum(float(row[c]) for c in row if c.startswith("count")) for row in table}
    with gzip.open(folder / "day_series_exemplars_1440.csv.gz", "rt") as lines:
        rows = list(csv.reader(lines))[1:]
    values = np.array([[float(cell or 0) > 0 for cell in row[2:]] for row in rows], dtype=np.float64)
    chances = np.array([weight.get(row[0], 0.0) for row in rows])
    picked = np.random.default_rng(0).choice(len(rows), count, p=chances / chances.sum())
    return SeriesBatch(values[picked], 60, 0.0, tuple(map(str, range(count))))


def test_on_public_days_timers_and_hazards_cost_less_than_rates(traces_dir: Path) -> None:
    """Measured with 400 series: hazard 0.0148, timer 0.0128, TSB 0.0215, Croston 0.0221 a step."""
    sample = exemplars(traces_dir / "azure2019-invitro", 120)
    models = [model_named(name) for name in ("timer", "hazard", "tsb", "croston")]
    tested = backtest(sample, models, Plan(steps=15, folds=6, stride=90), costs=Costs())
    timer, hazard, tsb, croston = tested.costs().mean(axis=0)
    assert timer < 0.8 * tsb
    assert hazard < 0.9 * tsb
    assert tsb < 1.2 * croston
    for scores in tested.scores.values():
        assert np.nanmean(scores.coverage) > 0.97
