"""The weights that are shipped: they fit the code, are small, and know timers, bursts and their own ignorance."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.forecast.levels.neural_numpy import NeuralLevels

PATH = Path(str(files("prewarm.forecast.levels") / "models" / "neural.npz"))


@pytest.fixture(scope="module")
def shipped() -> NeuralLevels:
    """The model of the package."""
    return NeuralLevels.load(PATH)


def probability(model: NeuralLevels, hits: list[int], now: int) -> float:
    """P(N >= 1) of one function known from minute 0."""
    minute = np.array(hits, dtype=np.int32)
    return float(
        model.p_at_least(
            SparseHistory(
                hit_minute=minute, hit_need=np.ones(minute.size, dtype=np.int16),
                indptr=np.array([0, minute.size], dtype=np.int64), since=np.zeros(1, dtype=np.int32), now_minute=now,
            )
        ).p[0]
    )  # fmt: skip


@pytest.mark.parametrize("period", [5, 7, 15, 60, 97])
def test_a_steady_timer_is_met_on_its_minute_and_not_between(shipped: NeuralLevels, period: int) -> None:
    hits = list(range(4, 14 * period, period))
    due = hits[-1] + period
    assert probability(shipped, hits, due) > 0.8
    between = [probability(shipped, hits, now) for now in range(hits[-1] + 1, due)]
    assert max(between) < 0.05


def test_two_timers_in_one_app_are_both_known(shipped: NeuralLevels) -> None:
    hits = sorted({*range(3, 1200, 60), *range(10, 1200, 45)})
    assert probability(shipped, hits, 1203) > 0.5
    assert probability(shipped, hits, 1225) > 0.5
    assert probability(shipped, hits, 1210) < 0.05


def test_the_second_hit_of_an_hourly_timer_is_not_yet_sure_and_grows_surer(shipped: NeuralLevels) -> None:
    p = [probability(shipped, list(range(30, 30 + 60 * n, 60)), 30 + 60 * n) for n in (1, 2, 3, 6)]
    assert p == sorted(p)
    assert p[0] < 0.3 < 0.8 < p[-1]


def test_a_function_never_called_is_not_expected(shipped: NeuralLevels) -> None:
    assert probability(shipped, [], 700) < 0.01


def test_a_function_called_every_minute_is_expected(shipped: NeuralLevels) -> None:
    assert probability(shipped, list(range(300)), 300) > 0.98


def test_the_card_says_what_it_was_made_from() -> None:
    card = json.loads(PATH.with_suffix(".json").read_text())
    assert card["command"] == "prewarm train sequence --seed 0"
    assert card["settings"]["passes"] == 24
    assert (card["data"]["exemplars"], card["data"]["dropped_alike"], card["data"]["used"]) == (1105, 355, 750)
    assert len(card["data"]["sha256"]) == len(card["data"]["kept_apart_sha256"]) == 64
    assert PATH.stat().st_size < 1_000_000
