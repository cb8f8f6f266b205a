"""Peers in the forecast benchmark: each answer belongs to the minute it was asked for, and none sees ahead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prewarm.bench.forecast_peers import Entry, entries, peer_answers
from prewarm.bench.forecast_protocol import DAY, HORIZONS, TEST_START, TEST_STOP, Demand, error_ratios
from prewarm.domain import FloatArray

TEST = slice(TEST_START * DAY, TEST_STOP * DAY)


class Last:
    """Says the last value that it was shown, and remembers on how many points it was fitted."""

    fitted: tuple[int, ...] = ()

    def fit(self, y: FloatArray) -> Any:
        Last.fitted += (len(y),)
        return self

    def forward(self, y: FloatArray, h: int) -> dict[str, FloatArray]:
        return {"mean": np.full(h, y[-1])}

    def forecast(self, y: FloatArray, h: int) -> dict[str, FloatArray]:
        return {"mean": np.full(h, y[-1])}


def demand(seed: int = 0) -> Demand:
    rng = np.random.default_rng(seed)
    return Demand(("R1",), rng.poisson(30, (1, TEST_STOP * DAY)).astype(float), {})


@pytest.mark.parametrize("horizon", HORIZONS)
def test_a_forecast_of_counts_reads_the_count_a_horizon_ago(horizon: int) -> None:
    known = demand()
    said = peer_answers(known, Entry("last", Last)).median[horizon][0]
    np.testing.assert_array_equal(said, known.counts[0, TEST.start - horizon : TEST.stop - horizon])


def test_a_residual_peer_is_fitted_once_a_day_on_a_days_points_and_gets_its_profile_back() -> None:
    Last.fitted = ()
    known = demand(1)
    answers = peer_answers(known, Entry("last", Last, residual=True, lift=5.0))
    assert Last.fitted == (1440,) * (TEST_STOP - TEST_START + 1)  # and once for the minutes before the first midnight
    assert 0.8 < error_ratios(known, answers)[1][0] < 1.3
    assert (answers.median[1] >= 0).all()


def test_a_peer_asked_rarely_holds_its_answer_and_says_so() -> None:
    known = demand(2)
    answers = peer_answers(known, Entry("last", Last), stride=15)
    assert "every 15 min" in answers.note
    changes = np.flatnonzero(np.diff(answers.median[1][0]))
    assert (np.diff(changes) % 15 == 0).all()


def test_all_named_peers_are_there() -> None:
    names = " ".join(entry.name for entry in entries())
    for name in ("auto_ets", "auto_theta", "croston", "sba", "tsb", "adida"):
        assert name in names
