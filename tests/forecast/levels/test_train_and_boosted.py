"""A small training gives a model that knows timers, says the same twice, and survives being written and read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.forecast.levels.boosted import CARD, SHIPPED, LevelModel
from prewarm.forecast.levels.dataset import Days
from prewarm.forecast.levels.feature_table import GROUPS
from prewarm.forecast.levels.features import Questions
from prewarm.forecast.levels.train import TrainingSettings, fit, write_model
from tests.forecast.levels.histories import history_of, timer

SMALL = TrainingSettings(apps=2, timers=3, rate=0.3, trees=25, later_trees=8, held_out=0.2, threads=1)


def _counts() -> np.ndarray:
    """Timers of some periods and random series, one day."""
    rng = np.random.default_rng(4)
    counts = np.zeros((24, 1440))
    for row, period in enumerate((3, 4, 5, 7, 10, 15, 20, 30)):
        counts[row, rng.integers(period) :: period] = 1
    counts[8:] = rng.poisson(rng.uniform(0.02, 0.5, 16)[:, None], (16, 1440))
    return counts


def questions(now: int, ahead: list[int]) -> Questions:
    """About the first level of the first function, so many minutes after now."""
    none = np.zeros(len(ahead), np.int32)
    return Questions(none, none + 1, none + now, np.array(ahead, np.int32))


def _told(share: float, what: str) -> None:
    assert 0 <= share <= 1
    assert what


@pytest.fixture(scope="module")
def fitted() -> LevelModel:
    return LevelModel(*fit(Days(_counts(), None), 3, SMALL, _told)[0], {})


def test_a_timer_is_expected_when_due_and_not_before(fitted: LevelModel) -> None:
    due = fitted.p_at_least(history_of([timer(10, 400)], 400)).p[0]
    early = fitted.p_at_least(history_of([timer(10, 400)], 396)).p[0]
    assert due > 0.6
    assert early < 0.1


def test_the_same_seed_trains_the_same_model(fitted: LevelModel) -> None:
    again = LevelModel(*fit(Days(_counts(), None), 3, SMALL, _told)[0], {})
    history = history_of([timer(10, 397), timer(7, 390), []], 397)
    np.testing.assert_array_equal(again.p_at_least(history).p, fitted.p_at_least(history).p)


def test_the_score_tells_what_was_said_and_what_happened() -> None:
    _, scores = fit(Days(_counts(), None), 3, SMALL, _told)
    assert set(scores) == {"next_minute", "later"}
    assert "calibration" in str(scores["next_minute"])


def test_a_model_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    model, _ = fit(Days(_counts(), None), 5, SMALL, _told)
    write_model(model, {"version": "1.5"}, tmp_path)
    read = LevelModel.load(tmp_path)
    history = history_of([timer(5, 333), [(7, 1.0), (9, 2.6)]], 333)
    np.testing.assert_allclose(read.p_at_least(history).p, LevelModel(*model, {}).p_at_least(history).p, rtol=1e-6)
    assert read.version == "1.5"


@pytest.mark.parametrize("broken", ["missing", "not-gzip", "no-json"])
def test_a_broken_model_is_refused_with_its_folder(tmp_path: Path, broken: str) -> None:
    if broken != "missing":
        for file in SHIPPED.glob("levels*"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
        name = CARD if broken == "no-json" else "levels_next.txt.gz"
        (tmp_path / name).write_bytes(b"\x00garbage")
    with pytest.raises(InputError, match="no usable level model"):
        LevelModel.load(tmp_path)


class TestShipped:
    """The model in the package."""

    def test_it_has_a_card_that_says_where_it_comes_from(self) -> None:
        card = json.loads((SHIPPED / CARD).read_text())
        assert card["data"]["dropped_alike"] == 355
        assert len(card["data"]["sha256"]) == 64
        assert list(card["features"]) == list(GROUPS)
        assert card["command"].startswith("prewarm train levels --seed ")

    @pytest.mark.parametrize(("period", "now"), [(5, 500), (10, 800), (60, 1200), (15, 600)])
    def test_timers_are_foreseen(self, period: int, now: int) -> None:
        model = LevelModel.load()
        assert model.p_at_least(history_of([timer(period, now)], now)).p[0] > 0.9
        assert model.p_at_least(history_of([timer(period, now)], now - 2)).p[0] < 0.1

    def test_a_function_without_history_is_not_kept_warm(self) -> None:
        assert LevelModel.load().p_at_least(history_of([[]], 300)).p[0] < 0.05

    def test_chances_never_rise_with_the_level(self) -> None:
        rng = np.random.default_rng(0)
        hits = [(minute, float(mark)) for minute, mark in enumerate(rng.gamma(1.0, 1.5, 300) + 0.01)]
        said = LevelModel.load().p_at_least(history_of([hits, timer(5, 300)], 300))
        assert said.level[said.row == 0].tolist() == list(range(1, int((said.row == 0).sum()) + 1))
        assert (np.diff(said.p[said.row == 0]) <= 0).all()

    def test_blanking_a_group_changes_the_answer_and_not_the_model(self) -> None:
        model = LevelModel.load()
        history = history_of([timer(7, 400)], 406)
        whole = model.p_at_least(history).p
        assert model.without(frozenset({"suffix"})).p_at_least(history).p[0] != whole[0]
        np.testing.assert_array_equal(model.p_at_least(history).p, whole)

    def test_the_minutes_ahead_follow_a_timer(self) -> None:
        model = LevelModel.load()
        history = history_of([timer(10, 800)], 796)
        ahead = model.chances_ahead(history, questions(796, list(range(9)))).tolist()
        assert int(np.argmax(ahead)) == 4
        assert ahead[4] > 0.8

    def test_further_than_it_was_trained_for_is_refused(self) -> None:
        with pytest.raises(InputError, match="minutes ahead: must be less than 15, are 15"):
            LevelModel.load().chances_ahead(history_of([[]], 5), questions(5, [15]))
