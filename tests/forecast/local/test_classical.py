"""Fitted models fit what they should, hand over what they should not, and say which and why."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from prewarm.domain import FloatArray, InputError
from prewarm.forecast.local.classical import Classical, Kind, Wishes
from prewarm.forecast.local.fits import FitError, Shape, filled, fit_holt_winters, fourier_terms, without_season
from tests.forecast.made import LEVELS, batch_of

KINDS: tuple[Kind, ...] = ("holt_winters", "arima", "sarima")


def wave(length: int, season: int, level: float = 50.0) -> FloatArray:
    out: FloatArray = level + 0.6 * level * np.sin(2 * np.pi * np.arange(length) / season)
    return out


@pytest.mark.parametrize("kind", ["holt_winters", "sarima"])
def test_a_season_is_carried_on(kind: Kind) -> None:
    values = wave(24 * 8, 24) + np.random.default_rng(1).normal(0, 1, 24 * 8)
    answer = Classical(kind, Wishes(season_steps=24)).predict(batch_of(values, step_s=3_600), 24, LEVELS)
    assert answer.used == (kind,)
    assert np.abs(answer.mean[0] - wave(24 * 9, 24)[-24:]).mean() < 1.5


@pytest.mark.parametrize("kind", ["holt_winters", "sarima"])
def test_a_season_of_a_day_of_minutes_is_reduced_and_says_so(kind: Kind) -> None:
    answer = Classical(kind).predict(batch_of(wave(1_440 * 3, 1_440)), 60, LEVELS)
    assert answer.reasons[0].startswith("reduced form: Fourier terms for periods of 1440, 60 steps, then ")
    assert np.abs(answer.mean[0] - wave(1_440 * 3 + 60, 1_440)[-60:]).mean() < 1.0


def test_arima_follows_an_autoregression_over_unknown_steps() -> None:
    rng = np.random.default_rng(3)
    values = np.zeros(400)
    for t in range(1, 400):
        values[t] = 0.8 * values[t - 1] + rng.normal()
    values += 20
    values[100:150] = np.nan
    answer = Classical("arima").predict(batch_of(values), 40, LEVELS)
    assert answer.mean[0, 0] == pytest.approx(20 + 0.8 * (values[-1] - 20), abs=1.0)
    assert answer.mean[0, -1] == pytest.approx(20, abs=1.5)
    assert answer.quantiles[0, 0, -1] - answer.quantiles[0, 0, 0] == pytest.approx(3.92, abs=0.6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("values", "used", "why"),
    [
        pytest.param(np.zeros(0), "smoothing", "history of 0 known steps is too short", id="empty"),
        pytest.param(np.arange(9.0), "smoothing", "history of 9 known steps is too short", id="short"),
        pytest.param(np.full(99, 7.0), "smoothing", "flat history (7 throughout)", id="flat"),
        pytest.param(np.eye(1, 99)[0], "tsb", "calls in 1.0% of the steps are too rare", id="rare"),
    ],
)
def test_what_is_not_worth_a_fit_is_handed_over(kind: Kind, values: FloatArray, used: str, why: str) -> None:
    answer = Classical(kind).predict(batch_of(values), 5, LEVELS)
    assert answer.model == kind or not len(values)
    assert answer.used == (used,)
    assert why in answer.reasons[0]
    assert f"{used} instead" in answer.reasons[0]


def test_a_budget_that_is_spent_hands_over() -> None:
    asked: list[str] = []

    def budget(model: str) -> bool:
        asked.append(model)
        return len(asked) < 2

    values = wave(60, 12)
    answer = Classical("arima", budget=budget).predict(batch_of(values, values), 3, LEVELS)
    assert answer.used == ("arima", "smoothing")
    assert answer.reasons[1].startswith("time budget for arima is spent; smoothing instead")


def test_a_wished_season_longer_than_half_the_history_names_the_fallback() -> None:
    for kind in ("holt_winters", "sarima"):
        answer = Classical(kind, Wishes(season_steps=40)).predict(batch_of(wave(60, 40)), 5, LEVELS)
        assert answer.used == ("smoothing",)
        assert "history of 60 steps is shorter than two seasons of 40" in answer.reasons[0]


def test_multiplicative_is_kept_where_nothing_is_zero() -> None:
    growing = wave(96, 12) * np.linspace(1, 2, 96)
    wishes = Wishes(season_steps=12, trend="mul", seasonal="mul")
    answer = Classical("holt_winters", wishes).predict(batch_of(growing), 12, LEVELS)
    assert "multiplicative trend" in answer.reasons[0]
    zeroed = np.where(np.arange(96) % 12 == 0, 0.0, growing)
    answer = Classical("holt_winters", wishes).predict(batch_of(zeroed), 12, LEVELS)
    assert answer.reasons[0].startswith("additive instead of multiplicative because the data holds zeros")
    assert answer.mean[0, 0] < 10.0


def test_no_numeric_warning_leaves_a_fit() -> None:
    rng = np.random.default_rng(4)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for kind in KINDS:
            Classical(kind).predict(batch_of(rng.integers(0, 2, 40), np.arange(40) % 2 * 1e12), 5, LEVELS)
    assert [str(w.message) for w in seen if issubclass(w.category, RuntimeWarning | UserWarning)] == []


def test_intervals_hold_their_share_of_what_comes() -> None:
    rng = np.random.default_rng(5)
    values = 100 + rng.normal(0, 5, (12, 330))
    answer = Classical("arima").predict(batch_of(*values[:, :300]), 30, LEVELS)
    coming = values[:, 300:]
    inside = ((coming >= answer.quantiles[..., 0]) & (coming <= answer.quantiles[..., -1])).mean()
    assert inside == pytest.approx(0.95, abs=0.05)


@pytest.mark.parametrize(
    "wrong", [{"season_steps": 1}, {"season_steps": 10**7}, {"trend": "up"}, {"seasonal": ""}], ids=str
)
def test_wishes_that_cannot_be_are_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))}: must be"):
        Wishes(**wrong)  # type: ignore[arg-type]


def test_fourier_terms_name_no_frequency_twice() -> None:
    terms = fourier_terms(0, 2_000, (1_440, 240), harmonics=6)
    assert terms.shape == (2_000, 1 + 2 * 6 + 2 * 5)  # 1440/6 is 240
    assert np.linalg.matrix_rank(terms) == terms.shape[1]


def test_a_pure_season_leaves_nothing() -> None:
    values = wave(300, 30)
    values[50:80] = np.nan
    left, ahead = without_season(values, 30, (30,))
    assert np.nanmax(np.abs(left)) < 1e-9
    np.testing.assert_allclose(ahead, wave(330, 30)[-30:])


def test_unknown_steps_are_bridged_by_lines() -> None:
    assert filled(np.array([np.nan, 2.0, np.nan, 6.0, np.nan])).tolist() == [2.0, 2.0, 4.0, 6.0, 6.0]


def test_a_series_that_cannot_be_fitted_is_a_fit_error() -> None:
    with pytest.raises(FitError, match=r"no fit \(ValueError: "):
        fit_holt_winters(np.arange(30.0), 5, Shape(season=6, seasonal="mul"))
