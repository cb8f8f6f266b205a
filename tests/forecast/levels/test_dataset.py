"""Training series are bent as told, those like the evaluation set are dropped, and the draw is fair."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.forecast.levels.dataset import (
    Days,
    Part,
    bent_parts,
    draw,
    is_alike,
    over_bound,
    read_training_days,
    resemblance,
    turn,
    unite,
    with_durations,
)


def _counts(rows: int = 6, minutes: int = 1440) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.poisson(rng.uniform(0.02, 1.0, rows)[:, None], (rows, minutes)).astype(float)


def test_a_series_shifted_by_some_minutes_still_resembles_itself() -> None:
    series = _counts(2) > 0
    shifted = np.roll(series, 4, axis=1)
    alike = resemblance(series, shifted)
    assert np.diag(alike).min() > 0.95
    assert alike[0, 1] < 0.8


def test_a_series_shifted_further_does_not() -> None:
    series = np.zeros((1, 100), np.bool_)
    series[0, 10:90:13] = True
    assert resemblance(series, np.roll(series, 6, axis=1))[0, 0] < 0.2


def test_series_like_the_evaluation_set_are_dropped(traces_dir: Path) -> None:
    days, read = read_training_days(traces_dir)
    counts = days.counts
    assert (read["exemplars"], read["dropped_alike"]) == (1105, 355)
    assert counts.shape == (read["used"], 1440)
    assert (counts > 0).any(axis=1).all()


def test_training_without_the_evaluation_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is needed for training"):
        read_training_days(tmp_path)


def test_turning_keeps_every_count_and_the_order_of_minutes() -> None:
    counts = _counts()
    turned = turn(counts, np.random.default_rng(3))
    for before, after in zip(counts, turned, strict=True):
        assert any(np.array_equal(np.roll(before, offset), after) for offset in range(1440))


def test_durations_leave_idle_minutes_idle() -> None:
    counts = _counts()
    np.testing.assert_array_equal(with_durations(counts, np.random.default_rng(0)) > 0, counts > 0)


def test_an_app_is_busy_when_one_of_its_functions_is() -> None:
    counts = np.zeros((3, 1440))
    counts[:, ::10] = 2.0
    apps = unite(counts, 20, np.random.default_rng(5))
    busy = (apps > 0).mean(axis=1)
    assert apps.shape == (20, 1440)
    assert ((busy >= 0.1) & (busy <= 0.5)).all()


def test_a_second_level_is_needed_in_some_minutes_and_not_in_all() -> None:
    scaled = over_bound(with_durations(_counts(), np.random.default_rng(8)), np.random.default_rng(2))
    needed = (scaled > 1).mean(axis=1)
    assert len(scaled) > 0
    assert ((needed > 0) & (needed <= (scaled > 0).mean(axis=1))).all()


def test_series_of_one_mark_have_no_second_level() -> None:
    flat = (_counts() > 0).astype(float)
    assert over_bound(flat, np.random.default_rng(2)).shape == (0, 1440)


def test_a_part_shows_its_series_as_a_history() -> None:
    marks = np.zeros((2, 10))
    marks[0, [2, 5]] = (0.5, 1.5)
    part = Part("x", marks, 2)
    history = part.history()
    assert history.hit_minute.tolist() == [2, 5]
    assert history.hit_need.tolist() == [1, 2]
    assert history.indptr.tolist() == [0, 2, 2]
    assert part.hits.sum() == 1


def test_the_draw_is_fair_for_hits_and_for_minutes() -> None:
    part = Part("x", _counts(40), 1)
    sample = draw(part, 0.5, np.random.default_rng(7))
    minutes = part.hits.size
    assert sample.weight.size < 0.6 * minutes
    assert sample.weight.sum() == pytest.approx(minutes, rel=0.03)
    assert sample.weight[sample.happened].sum() == pytest.approx(part.hits.sum(), rel=0.03)
    np.testing.assert_array_equal(sample.happened, part.hits[sample.asked.row, sample.asked.now])


def test_a_draw_ahead_tells_what_happened_then_and_never_passes_the_end() -> None:
    part = Part("x", _counts(20), 1)
    sample = draw(part, 0.5, np.random.default_rng(7), longest_ahead=14)
    asked = sample.asked
    assert set(np.unique(asked.ahead)) == set(range(15))
    assert (asked.now + asked.ahead).max() < 1440
    np.testing.assert_array_equal(sample.happened, part.hits[asked.row, asked.now + asked.ahead])


def test_the_same_seed_bends_the_same_way() -> None:
    one = bent_parts(Days(_counts(), None), apps=4, timers=3, rng=np.random.default_rng(9))
    two = bent_parts(Days(_counts(), None), apps=4, timers=3, rng=np.random.default_rng(9))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first.marks, second.marks)


def test_nothing_made_resembles_what_is_kept_apart() -> None:
    every_five = np.zeros((5, 1440), np.bool_)
    for phase in range(5):
        every_five[phase, phase::5] = True
    free = bent_parts(Days(_counts(), None), apps=4, timers=200, rng=np.random.default_rng(9))
    kept = bent_parts(Days(_counts(), every_five), apps=4, timers=200, rng=np.random.default_rng(9))
    assert any(is_alike(part.marks > 0, every_five).any() for part in free), "the rule has something to leave out"
    assert not any(is_alike(part.marks > 0, every_five).any() for part in kept)
