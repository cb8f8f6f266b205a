"""Every forecaster keeps the same promises, whatever it is fed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prewarm.domain import InputError
from prewarm.forecast.batch import COUNTS, Forecaster
from prewarm.forecast.dense.model import shipped_model
from prewarm.forecast.models import CHEAP, DEAR, NAMES, Setting, model_named
from prewarm.forecast.series import SeriesBatch
from tests.forecast.dense.made_dense import timers
from tests.forecast.made import LEVELS, MONDAY, batch_of

ALL = [pytest.param(name, id=name) for name in NAMES]
COUNT = st.one_of(st.just(np.nan), st.just(0.0), st.integers(0, 20).map(float), st.floats(0, 1e15))


def check(model: Forecaster, batch: SeriesBatch, steps: int) -> None:
    answer = model.predict(batch, steps, LEVELS)
    n = len(batch.names)
    assert answer.mean.shape == (n, steps)
    assert answer.quantiles.shape == (n, steps, len(LEVELS))
    assert answer.p_at_least.shape == (n, steps, COUNTS)
    assert len(answer.used) == len(answer.reasons) == n
    assert all(answer.used)
    assert all(answer.reasons)
    for numbers in (answer.mean, answer.quantiles, answer.p_at_least):
        assert np.isfinite(numbers).all()
        assert (numbers >= 0).all()
    assert (np.diff(answer.quantiles, axis=2) >= 0).all()
    assert (np.diff(answer.p_at_least, axis=2) <= 0).all()
    assert (answer.p_at_least <= 1).all()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("length", [0, 1, 2, 90])
def test_short_and_unknown_histories_are_answered(name: str, length: int) -> None:
    model = model_named(name)
    rng = np.random.default_rng(7)
    unknown = np.full(length, np.nan)
    check(model, batch_of(np.zeros(length), np.full(length, 7.0), rng.poisson(3, length), unknown), 5)
    check(model, batch_of(np.zeros(length)).rows([]), 5)


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in CHEAP])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_counts_make_a_cheap_model_break_its_promises(name: str, data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(0, 60)))
    values = data.draw(arrays(np.float64, shape, elements=COUNT))
    step_s = data.draw(st.sampled_from([1, 60, 3_600, 86_400]))
    batch = SeriesBatch(values, step_s, MONDAY, tuple(f"f{i}" for i in range(shape[0])))
    check(model_named(name), batch, data.draw(st.sampled_from([1, 7, 300])))


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in DEAR])
@pytest.mark.parametrize(
    "kind", ["ramp", "noise", "huge", "gaps", "one-spike", "alternating", "late-start", "step", "tiny"]
)
def test_odd_shapes_do_not_break_a_fitted_model(name: str, kind: str) -> None:
    rng = np.random.default_rng(11)
    length = 150
    shapes = {
        "ramp": np.arange(length, dtype=np.float64),
        "noise": rng.poisson(4, length).astype(np.float64),
        "huge": rng.uniform(0, 1e15, length),
        "gaps": np.where(rng.uniform(size=length) < 0.5, np.nan, rng.poisson(9, length)),
        "one-spike": np.where(np.arange(length) == 70, 1e9, 1.0),
        "alternating": np.arange(length) % 2 * 5.0,
        "late-start": np.where(np.arange(length) < 100, np.nan, 3.0 + np.arange(length) % 3),
        "step": np.where(np.arange(length) < 75, 1.0, 100.0),
        "tiny": rng.uniform(0, 1e-12, length),
    }
    check(model_named(name), batch_of(shapes[kind]), 10)


def test_the_past_alone_decides() -> None:
    """Changing the grid before the first known value changes nothing for idle-time models."""
    values = np.r_[np.full(300, np.nan), np.tile([0.0, 0.0, 1.0], 40)]
    for name in ("tsb", "croston", "hazard"):
        whole = model_named(name).predict(batch_of(values), 5, LEVELS)
        cut = model_named(name).predict(batch_of(values).until(420, window=120), 5, LEVELS)
        np.testing.assert_allclose(whole.p_at_least, cut.p_at_least)


def test_names_are_those_of_the_command_line_and_others_are_refused() -> None:
    for name in ("auto", "holt_winters", "arima", "sarima", "dense", "croston"):
        assert name in NAMES
    with pytest.raises(InputError, match="model: must be one of auto, "):
        model_named("prophet")
    with pytest.raises(InputError, match="--model: "):
        model_named("", Setting(), place="--model")


@pytest.fixture(scope="module")
def _dense_loaded() -> None:
    """Loads the shipped trees, so that no single test is charged for it."""
    shipped_model()


@pytest.mark.usefixtures("_dense_loaded")
def test_the_dense_model_is_asked_by_its_name() -> None:
    """Its shipped trees speak for a busy series of eleven days; of a short one it says what it lacks."""
    busy = model_named("dense").predict(batch_of(timers(11)), 5, LEVELS)
    assert busy.used == ("dense",)
    assert "day and hour pattern" in busy.reasons[0]
    short = model_named("dense").predict(batch_of(timers(1)), 5, LEVELS)
    assert short.used == ("smoothing",)
    assert short.reasons[0].startswith("dense not used: needs 10 days of minutes")


def test_the_service_side_loads_no_heavy_library() -> None:
    code = (
        "import sys, numpy; import prewarm.forecast.pool, prewarm.forecast.models as m;"
        "from prewarm.forecast.series import SeriesBatch;"
        "b = SeriesBatch(numpy.ones((1, 40)), 60, 0.0, ('f',)); m.model_named('auto').predict(b, 5, (0.5,));"
        "print([n for n in ('statsmodels', 'pandas', 'torch', 'scipy.stats', 'numba', 'lightgbm') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
