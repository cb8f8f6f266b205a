"""A day that rolls forward: the correction learns what the global trees do not know, from the past only."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from prewarm.forecast.dense.boost import Trees
from prewarm.forecast.dense.day import DayRows, corrected_for, day_centres, day_misses, rows_for_day
from prewarm.forecast.dense.model import DenseModel, load_model
from prewarm.forecast.dense.root import DAY
from prewarm.forecast.dense.table import Panel
from prewarm.forecast.dense.train import panel_of
from tests.forecast.dense.made_dense import small_trained, timers

DAYS = 13
TREES = Trees(rounds=20, leaves=7, rate=0.2, fewest_rows=50)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> DenseModel:
    folder: Path = tmp_path_factory.mktemp("dense")
    small_trained().write(folder)
    return load_model(folder)


@cache
def panel() -> Panel:
    return panel_of(np.stack([timers(DAYS, seed=5)]))


@cache
def rows(day: int) -> DayRows:
    return rows_for_day(panel(), day * DAY, (5,))


def corrected(model: DenseModel) -> DenseModel:
    """Corrected by what it missed on day 11."""
    return corrected_for(model, [day_misses(model, panel(), rows(11))], trees=TREES)


def test_a_day_is_forecast_for_every_series_and_minute(model: DenseModel) -> None:
    median, spread = day_centres(model, rows(12), 5)
    assert median.shape == spread.shape == (1, DAY)
    assert np.isfinite(median).all()
    assert (spread > 0).all()


def test_without_past_days_the_model_stays_as_it_is(model: DenseModel) -> None:
    assert corrected_for(model, []) is model


def test_a_correction_lowers_the_error_on_the_days_it_was_fitted_on(model: DenseModel) -> None:
    fresh = corrected(model)
    truth = panel().pasts[0].root[11 * DAY : 12 * DAY]
    plain, better = (np.abs(day_centres(m, rows(11), 5)[0][0] - truth).mean() for m in (model, fresh))
    assert better < plain


def test_a_correction_replaces_the_one_before(model: DenseModel) -> None:
    once = corrected(model)
    twice = corrected(once)
    np.testing.assert_array_equal(day_centres(once, rows(12), 5)[0], day_centres(twice, rows(12), 5)[0])


def test_horizons_without_rows_keep_their_trees(model: DenseModel) -> None:
    fresh = corrected(model)
    assert fresh.layers[1] is model.layers[1]
    assert fresh.layers[5].correction is not None
