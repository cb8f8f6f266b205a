"""The dense forecaster: sane on everything, silent where it is not at home, better than yesterday where it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.domain import FloatArray
from prewarm.forecast.batch import ForecastBatch
from prewarm.forecast.dense.forecaster import NEEDED, DenseForecaster, unsuited
from prewarm.forecast.dense.model import load_model
from prewarm.forecast.dense.root import DAY
from tests.forecast.dense.made_dense import small_trained, timers
from tests.forecast.made import LEVELS, batch_of


@pytest.fixture(scope="module")
def forecaster(tmp_path_factory: pytest.TempPathFactory) -> DenseForecaster:
    folder: Path = tmp_path_factory.mktemp("dense")
    small_trained().write(folder)
    return DenseForecaster(load_model(folder))


def assert_sane(answer: ForecastBatch, n: int, steps: int) -> None:
    assert answer.mean.shape == (n, steps)
    assert answer.quantiles.shape == (n, steps, len(LEVELS))
    for values in (answer.mean, answer.quantiles, answer.p_at_least):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert (np.diff(answer.quantiles, axis=-1) >= 0).all()
    assert (np.diff(answer.p_at_least, axis=-1) <= 0).all()
    assert len(answer.used) == len(answer.reasons) == n


@pytest.mark.parametrize("points", [0, 1, 90, 3 * DAY])
def test_short_histories_are_handed_over_with_a_reason(forecaster: DenseForecaster, points: int) -> None:
    answer = forecaster.predict(batch_of(timers(4)[:points]), 15, LEVELS)
    assert_sane(answer, 1, 15)
    assert answer.used[0] != "dense"
    assert f"dense not used: needs 10 days of minutes, has {points}" in answer.reasons[0]


def test_a_busy_series_is_forecast_closer_than_by_yesterday(forecaster: DenseForecaster) -> None:
    truth = timers(11, seed=9)
    now = 10 * DAY + 300
    answer = forecaster.predict(batch_of(truth[:now]), 60, LEVELS)
    assert_sane(answer, 1, 60)
    assert answer.used == ("dense",)
    coming, yesterday = truth[now : now + 60], truth[now - DAY : now - DAY + 60]
    assert np.abs(answer.quantiles[0, :, 1] - coming).mean() < np.abs(yesterday - coming).mean()
    inside = (coming >= answer.quantiles[0, :, 0]) & (coming <= answer.quantiles[0, :, 3])
    assert inside.mean() >= 0.85


def test_busy_and_idle_series_are_answered_side_by_side(forecaster: DenseForecaster) -> None:
    idle = np.zeros(NEEDED)
    idle[::120] = 1.0
    answer = forecaster.predict(batch_of(idle, timers(10)[:NEEDED], np.full(NEEDED, np.nan)), 5, LEVELS)
    assert_sane(answer, 3, 5)
    assert answer.used[1] == "dense"
    assert "dense" not in (answer.used[0], answer.used[2])
    assert "idle in more than half" in answer.reasons[0]


def test_gaps_are_unknown_and_not_zero(forecaster: DenseForecaster) -> None:
    whole = timers(10, seed=3, level=50.0)
    torn = whole.copy()
    torn[-3 * DAY :][np.random.default_rng(1).random(3 * DAY) < 0.2] = np.nan
    answers = [forecaster.predict(batch_of(v), 10, LEVELS).mean[0] for v in (whole, torn)]
    assert abs(answers[1].mean() / answers[0].mean() - 1.0) < 0.15


def test_a_series_that_stopped_being_known_hours_ago_is_still_answered(forecaster: DenseForecaster) -> None:
    values = timers(11, seed=3)
    values[-180:] = np.nan
    assert_sane(forecaster.predict(batch_of(values), 5, LEVELS), 1, 5)


def test_steps_beyond_the_longest_horizon_are_carried_on(forecaster: DenseForecaster) -> None:
    values = timers(10, seed=4)
    long = forecaster.predict(batch_of(values), 23, LEVELS)
    short = forecaster.predict(batch_of(values), 5, LEVELS)
    assert_sane(long, 1, 23)
    np.testing.assert_allclose(long.quantiles[0, :5], short.quantiles[0])
    fired = np.arange(10 * DAY, 10 * DAY + 23) % 60 == 7
    assert long.mean[0][fired].min() > long.mean[0][~fired].mean()


def test_other_steps_than_a_minute_are_handed_over(forecaster: DenseForecaster) -> None:
    answer = forecaster.predict(batch_of(timers(10), step_s=300), 3, LEVELS)
    assert "needs steps of 60 s, has 300 s" in answer.reasons[0]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.full(NEEDED, np.nan), "has 0"),
        (np.concatenate([[1.0], np.full(NEEDED - 1, np.nan)]), "last week is unknown"),
        (np.zeros(NEEDED), "idle in more than half"),
        (np.ones(NEEDED - 1), "needs 10 days"),
    ],
    ids=["nothing known", "one point long ago", "idle", "a minute short"],
)
def test_what_does_not_suit_is_said(values: FloatArray, why: str) -> None:
    assert why in (unsuited(values, 60) or "")


def test_a_flat_busy_series_stays_flat(forecaster: DenseForecaster) -> None:
    answer = forecaster.predict(batch_of(np.full(NEEDED, 7.0)), 10, LEVELS)
    np.testing.assert_allclose(answer.mean[0], 7.0, atol=0.7)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), level=st.sampled_from([0.0, 0.3, 3.0, 1e7]))
def test_no_counts_break_it(forecaster: DenseForecaster, seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    values = rng.poisson(level, NEEDED).astype(float)
    values[rng.random(NEEDED) < 0.05] = np.nan
    values[rng.integers(0, NEEDED)] = 1e12
    assert_sane(forecaster.predict(batch_of(values), 7, LEVELS), 1, 7)


def test_importing_the_forecaster_loads_no_trees_and_no_tables() -> None:
    heavy = "('lightgbm', 'pandas', 'torch', 'numba')"
    code = f"import sys, prewarm.forecast.dense.forecaster; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
