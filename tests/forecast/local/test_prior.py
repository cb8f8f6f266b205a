"""A function without a history is expected to behave as those like it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prewarm.forecast.local.prior import FLEET, HazardPrior, PriorForecaster, learn_prior
from prewarm.forecast.models import Setting, model_named
from prewarm.forecast.stateless import answer, parse_request
from tests.forecast.made import LEVELS, batch_of, every

BUSY = HazardPrior(2.0, 1.0, "namespace shop")


def test_the_hazard_falls_with_the_idle_age() -> None:
    hazard = FLEET.hazard(np.arange(1.0, 100.0))
    assert (np.diff(hazard) < 0).all()
    assert 0.3 < hazard[0] < 0.5


def test_many_functions_teach_their_own_figures_and_few_lean_on_the_fleet() -> None:
    rng = np.random.default_rng(3)
    busy = np.stack([every(3, 600, phase=int(rng.integers(3))) for _ in range(60)])
    quiet = np.stack([every(200, 600, phase=int(rng.integers(200))) for _ in range(60)])
    many, one, rare = learn_prior(busy, "busy"), learn_prior(busy[:1], "one"), learn_prior(quiet, "quiet")
    assert many.scale > 2 * rare.scale
    assert FLEET.scale < one.scale < many.scale
    assert learn_prior(np.full((2, 9), np.nan), "nobody").scale == pytest.approx(FLEET.scale)


def test_the_forecaster_reads_the_idle_age_since_the_function_is_known() -> None:
    answer = PriorForecaster(BUSY).predict(batch_of(np.zeros(9), np.full(9, np.nan)), 3, LEVELS)
    np.testing.assert_allclose(answer.p_at_least[0, :, 0], [2 / 11, 2 / 12, 2 / 13])
    assert answer.p_at_least[1, 0, 0] == pytest.approx(2 / 2)
    assert answer.reasons == ("no history of its own: as for namespace shop",) * 2


@pytest.mark.parametrize("name", ["prior", "hazard"])
def test_a_setting_s_prior_reaches_the_models_that_use_one(name: str) -> None:
    batch = batch_of(np.zeros(9))
    told = model_named(name, Setting(prior=BUSY)).predict(batch, 1, LEVELS)
    plain = model_named(name).predict(batch, 1, LEVELS)
    assert told.p_at_least[0, 0, 0] > plain.p_at_least[0, 0, 0]
    assert told.reasons[0].endswith("as for namespace shop")


def test_a_series_of_which_nothing_is_known_is_answered_by_the_prior_of_its_request() -> None:
    request = parse_request({"series": [{"values": [None, None]}], "steps": 2})
    (told,) = answer(replace(request, setting=replace(request.setting, prior=BUSY)))
    assert told.model == "prior"
    assert told.p_at_least[:, 0].tolist() == [1.0, pytest.approx(2 / 3)]
