"""The level model's word on the next minutes, laid over another forecaster's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from prewarm.domain import FloatArray
from prewarm.forecast.levels.ahead import LONGEST, MOST_LEVELS, NOTE, NearByLevels, history_of
from prewarm.forecast.local.smoothing import Smoothing
from prewarm.forecast.models import Setting, model_named
from prewarm.forecast.series import SeriesBatch
from tests.forecast.made import LEVELS, MONDAY, batch_of, every

NEAR = NearByLevels(Smoothing())


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Loads the model once, so that no single test is charged for it."""
    NEAR.predict(batch_of(every(3, 30)), 2, LEVELS)


def test_a_timer_is_seen_coming_and_the_far_steps_stay() -> None:
    batch = batch_of(every(10, 800, phase=4))
    answer, plain = NEAR.predict(batch, 30, LEVELS), Smoothing().predict(batch, 30, LEVELS)
    due = np.arange(30) % 10 == 4
    chance = answer.p_at_least[0, :, 0]
    assert (chance[:LONGEST][due[:LONGEST]] > 0.8).all()
    assert (chance[:LONGEST][~due[:LONGEST]] < 0.1).all()
    np.testing.assert_array_equal(answer.p_at_least[0, LONGEST:], plain.p_at_least[0, LONGEST:])
    np.testing.assert_array_equal(answer.mean[0, LONGEST:], plain.mean[0, LONGEST:])
    assert answer.quantiles[0, 4:6].tolist() == [[1.0] * len(LEVELS), [0.0] * len(LEVELS)]
    assert answer.reasons[0].endswith(NOTE)
    assert answer.used == ("smoothing",)
    assert NEAR.name == "smoothing"


def test_the_numbers_agree_with_each_other() -> None:
    needs = np.random.default_rng(2).integers(0, 4, 400).astype(np.float64)
    answer = NEAR.predict(batch_of(needs), LONGEST, LEVELS)
    chances = answer.p_at_least[0]
    assert (np.diff(chances, axis=1) <= 0).all()
    assert (np.diff(answer.quantiles[0], axis=1) >= 0).all()
    np.testing.assert_allclose(answer.mean[0], chances.sum(axis=1), atol=1e-6)  # never more than three
    assert chances[:, 0].mean() == pytest.approx(0.75, abs=0.15)


@pytest.mark.parametrize(
    ("values", "step_s"),
    [
        pytest.param(np.zeros(300), 60, id="never-called"),
        pytest.param(np.full(300, np.nan), 60, id="unknown"),
        pytest.param(np.full(300, MOST_LEVELS + 1.0), 60, id="many-instances"),
        pytest.param(np.ones(300), 300, id="another-step"),
        pytest.param(np.zeros(0), 60, id="no-points"),
    ],
)
def test_where_it_has_no_word_the_other_speaks_alone(values: FloatArray, step_s: int) -> None:
    batch = SeriesBatch(values[None, :], step_s, MONDAY, ("f",))
    answer, plain = NEAR.predict(batch, 5, LEVELS), Smoothing().predict(batch, 5, LEVELS)
    np.testing.assert_array_equal(answer.p_at_least, plain.p_at_least)
    assert answer.reasons == plain.reasons


def test_functions_do_not_touch_each_other() -> None:
    first, second = every(7, 500), every(11, 500, phase=3)
    both = NEAR.predict(batch_of(first, np.zeros(500), second), 9, LEVELS)
    np.testing.assert_allclose(both.p_at_least[0], NEAR.predict(batch_of(first), 9, LEVELS).p_at_least[0])
    np.testing.assert_allclose(both.p_at_least[2], NEAR.predict(batch_of(second), 9, LEVELS).p_at_least[0])


def test_what_is_unknown_is_not_taken_for_silence() -> None:
    history = history_of(np.array([[np.nan, np.nan, 0.0, 2.0], [np.nan] * 4]))
    assert history.since.tolist() == [2, 4]
    assert history.hit_minute.tolist() == [3]
    assert history.indptr.tolist() == [0, 1, 1]
    assert history.now_minute == 4


def test_it_is_asked_for_by_the_setting_and_loads_nothing_before() -> None:
    assert isinstance(model_named("auto", Setting(near_by_levels=True)), NearByLevels)
    assert not isinstance(model_named("auto"), NearByLevels)
    code = (
        "import sys; from prewarm.forecast.models import Setting, model_named;"
        "model_named('auto', Setting(near_by_levels=True));"
        "print([n for n in ('lightgbm', 'numba') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
