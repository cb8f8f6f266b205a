"""Training: a card that tells all, files that match it, a model that can be read back."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.forecast.dense.features import Past
from prewarm.forecast.dense.model import LEAST_SPREAD, load_model
from prewarm.forecast.dense.roll import NEEDED_POINTS, feature_names, refit, rows_of
from prewarm.forecast.dense.root import DAY, rooted
from prewarm.forecast.dense.train import Plan, data_sum, panel_of, train_dense
from tests.forecast.dense.made_dense import HORIZONS, SMALL, small_trained, timers


def test_the_card_says_what_was_fitted_and_how() -> None:
    card = small_trained().card
    assert card["horizons"] == [1, 5]
    assert card["days"] == [9, 10]
    assert card["rows"] == {"1": 2 * 2 * DAY, "5": 2 * 2 * DAY}
    assert card["median"]["rounds"] == SMALL.rounds
    assert card["command"] == "test"
    assert card["features"] == list(feature_names())


def test_a_written_model_is_read_back_and_forecasts(tmp_path: Path) -> None:
    small_trained().write(tmp_path)
    model = load_model(tmp_path)
    past = Past.of(rooted(timers(11, seed=7)))
    rows = rows_of(past, refit(past, 10 * DAY, HORIZONS), np.arange(10 * DAY, 11 * DAY), 5)
    centre = model.layers[5].centre(rows)
    truth = past.root[10 * DAY :]
    assert np.abs(centre.median - truth).mean() < np.abs(past.root[9 * DAY : 10 * DAY] - truth).mean()
    assert (centre.spread >= LEAST_SPREAD * rows.scale).all()
    assert len(model.version) == 12


def test_training_twice_gives_the_same_files() -> None:
    values = np.stack([timers(10, seed=1)])
    plan = Plan(10, 9, (5,), SMALL, SMALL)
    one, other = (train_dense(values, plan, about={}) for _ in range(2))
    assert one.files == other.files


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    small_trained().write(tmp_path)
    (tmp_path / "median_5.txt.gz").write_bytes(gzip.compress(b"tree"))
    with pytest.raises(InputError, match=r"median_5.*sha256"):
        load_model(tmp_path)


def test_a_folder_without_a_card_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dense\.json"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "plan",
    [Plan(12, NEEDED_POINTS // DAY - 1, (1,)), Plan(99, 9, (1,)), Plan(9, 9, (1,))],
    ids=["begins too early", "ends after the data", "no day"],
)
def test_days_that_cannot_be_fitted_are_refused(plan: Plan) -> None:
    with pytest.raises(InputError, match="dense training"):
        train_dense(np.stack([timers(12)]), plan, about={})


def test_a_series_unknown_at_its_start_cannot_train() -> None:
    values = np.stack([timers(10)])
    values[0, 0] = np.nan
    with pytest.raises(InputError, match="first minute"):
        panel_of(values)


def test_unknown_minutes_are_closed_but_remembered() -> None:
    values = np.stack([timers(3)])
    values[0, 2000] = np.nan
    panel = panel_of(values)
    assert np.isfinite(panel.pasts[0].root).all()
    assert not panel.known[0, 2000]
    assert panel.known.sum() == 3 * DAY - 1


def test_the_sum_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"abc")
    assert data_sum([file]) == {"a.csv": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}


def test_progress_is_told_and_rises() -> None:
    told: list[float] = []

    def tell(share: float, _doing: str) -> None:
        told.append(share)

    train_dense(np.stack([timers(10)]), Plan(10, 9, (5,), SMALL, SMALL), about={}, progress=tell)
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1
