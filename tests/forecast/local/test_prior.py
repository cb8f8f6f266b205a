"""A function without a history is expected to behave as those like it."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.forecast.local.prior import FLEET, HazardPrior, Kind, PriorForecaster, Priors, learn_priors
from tests.forecast.made import LEVELS, batch_of, every

BUSY, QUIET = HazardPrior(2.0, 1.0, "owner busy"), HazardPrior(0.1, 1.0, "trigger timer")


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        pytest.param(Kind("timer", "busy"), "owner busy", id="owner-first"),
        pytest.param(Kind("timer", "nobody"), "trigger timer", id="then-trigger"),
        pytest.param(Kind("http", None), "public fleet", id="then-fleet"),
        pytest.param(Kind(), "public fleet", id="nothing-known"),
    ],
)
def test_the_closest_group_speaks(kind: Kind, source: str) -> None:
    priors = Priors(by_trigger={"timer": QUIET}, by_owner={"busy": BUSY})
    assert priors.of(kind).source == source


def test_the_hazard_falls_with_the_idle_age() -> None:
    hazard = FLEET.hazard(np.arange(1.0, 100.0))
    assert (np.diff(hazard) < 0).all()
    assert 0.3 < hazard[0] < 0.5


def test_groups_learn_their_own_figures_and_small_ones_lean_on_the_fleet() -> None:
    rng = np.random.default_rng(3)
    many_busy = np.stack([every(3, 600, phase=int(rng.integers(3))) for _ in range(60)])
    quiet = np.stack([every(200, 600, phase=int(rng.integers(200))) for _ in range(60)])
    kinds = [Kind("queue", "a")] * 59 + [Kind("queue", "b")] + [Kind("timer", "a")] * 60
    priors = learn_priors(np.vstack([many_busy, quiet]), kinds)
    assert priors.by_trigger["queue"].scale > 2 * priors.by_trigger["timer"].scale
    assert priors.fleet.scale < priors.by_owner["b"].scale < priors.by_trigger["queue"].scale


def test_the_forecaster_reads_the_idle_age_since_the_function_is_known() -> None:
    kinds = {"f0": Kind(owner="busy")}
    model = PriorForecaster(Priors(by_owner={"busy": BUSY}), kinds)
    answer = model.predict(batch_of(np.zeros(9), np.full(9, np.nan)), 3, LEVELS)
    np.testing.assert_allclose(answer.p_at_least[0, :, 0], [2 / 11, 2 / 12, 2 / 13])
    assert answer.p_at_least[1, 0, 0] == pytest.approx(FLEET.scale / (1 + FLEET.offset))
    assert answer.reasons == ("no history of its own: as for owner busy", "no history of its own: as for public fleet")
