"""Whatever a model computes, what leaves is finite, never negative and in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prewarm.domain import DataState
from prewarm.forecast.batch import CEILING, Said, data_state, forecasts, sane
from tests.forecast.made import batch_of

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)


@given(
    arrays(np.float64, (2, 3), elements=ANY_FLOAT),
    arrays(np.float64, (2, 3, 3), elements=ANY_FLOAT),
    arrays(np.float64, (2, 3, 4), elements=ANY_FLOAT),
    st.permutations([0.1, 0.5, 0.9]),
)
def test_no_number_gets_out_unchecked(mean: object, quantiles: object, chances: object, levels: list[float]) -> None:
    assert isinstance(mean, np.ndarray)
    assert isinstance(quantiles, np.ndarray)
    assert isinstance(chances, np.ndarray)
    out = sane(Said("m", "why"), tuple(levels), mean=mean, quantiles=quantiles, p_at_least=chances)
    for numbers in (out.mean, out.quantiles, out.p_at_least):
        assert np.isfinite(numbers).all()
        assert (numbers >= 0).all()
        assert (numbers <= CEILING).all()
    in_order = out.quantiles[..., np.argsort(levels)]
    assert (np.diff(in_order, axis=-1) >= 0).all()
    assert (np.diff(out.p_at_least, axis=-1) <= 0).all()
    assert (out.p_at_least <= 1).all()


def test_each_function_carries_its_own_reason_or_the_common_one() -> None:
    zeros = {"mean": np.zeros((2, 1)), "quantiles": np.zeros((2, 1, 1)), "p_at_least": np.zeros((2, 1, 4))}
    common = sane(Said("m", "quiet"), (0.5,), **zeros)
    assert (common.used, common.reasons) == (("m", "m"), ("quiet", "quiet"))
    own = sane(Said("m", ["a", "b"], ["m", "plain"]), (0.5,), **zeros)
    assert own.rows([1]).used == ("plain",)
    assert own.rows([1]).reasons == ("b",)


@pytest.mark.parametrize(
    ("values", "state"),
    [
        pytest.param([np.nan, np.nan], DataState.NONE, id="nothing-known"),
        pytest.param([], DataState.NONE, id="empty"),
        pytest.param([0.0, 0.0], DataState.OK, id="zero-is-known"),
        pytest.param([1.0, np.nan, 2.0], DataState.PARTIAL, id="a-gap"),
        pytest.param([1.0] * 18 + [np.nan] * 2, DataState.STALE, id="the-newest-tenth-is-missing"),
    ],
)
def test_what_is_known_has_a_name(values: list[float], state: DataState) -> None:
    assert data_state(np.array(values)) is state


def test_a_forecast_for_the_api_holds_its_mean_between_its_outer_quantiles() -> None:
    mean = np.array([[0.3]])
    quantiles = np.array([[[0.0, 0.0, 0.0]]])
    batch = batch_of([0.0, 1.0])
    answer = sane(Said("m", "why"), (0.1, 0.5, 0.9), mean=mean, quantiles=quantiles, p_at_least=np.zeros((1, 1, 4)))
    (one,) = forecasts(answer, batch)
    assert one.quantiles.tolist() == [[0.0, 0.0, 0.3]]
    assert one.issued_at == batch.end
    assert one.function == "f0"
    high = sane(Said("m", ""), (0.1, 0.9), mean=mean, quantiles=np.ones((1, 1, 2)), p_at_least=np.zeros((1, 1, 4)))
    (other,) = forecasts(high, batch, issued_at=7.0)
    assert other.quantiles.tolist() == [[0.3, 1.0]]
    assert other.issued_at == 7.0
