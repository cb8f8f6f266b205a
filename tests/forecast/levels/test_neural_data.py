"""The days a sequence model is trained on: of the right kinds, with weights that keep the loss unbiased."""

import numpy as np
import pytest

from prewarm.domain import FloatArray
from prewarm.forecast.levels.dataset import is_alike
from prewarm.forecast.levels.neural_data import (
    DAY,
    MAX_NEED,
    Exemplars,
    bend,
    draw_days,
    draw_levels,
    draw_marks,
    draw_period,
    draw_queries,
    draw_timer,
    make_timers,
    minute_shares,
    needs,
)


def make_rng(seed: int = 0) -> np.random.Generator:
    """A seeded generator."""
    return np.random.default_rng(seed)


def test_a_timer_keeps_its_period_in_most_of_its_gaps() -> None:
    shares = []
    for seed in range(60):
        gaps = np.diff(np.flatnonzero(draw_timer(draw_period(make_rng(seed)), make_rng(seed))))
        if len(gaps) >= 5:
            shares.append(float((np.abs(gaps - np.median(gaps)) <= 1).mean()))
    assert len(shares) > 30
    assert np.median(shares) > 0.85


FIVE = (np.arange(DAY) % 5 == 2)[None]


def test_no_timer_and_no_made_day_is_like_a_series_kept_apart() -> None:
    timers = make_timers(300, make_rng(), FIVE)
    assert len(timers) > 290
    assert not is_alike(timers > 0, FIVE).any()
    assert is_alike(make_timers(300, make_rng()) > 0, FIVE).any(), "the rule has something to leave out"
    exemplars = Exemplars(FIVE.astype(np.float64), np.ones(1), FIVE)
    days = draw_days(exemplars, timers, 200, make_rng(1))
    assert 0 < len(days) < 200, "turned copies of the exemplar kept apart are gone"
    assert not is_alike(days > 0, FIVE).any()


def test_timers_of_a_common_period_stay_common_where_steady_ones_are_kept_apart() -> None:
    def fives(timers: FloatArray) -> int:
        return sum(int(np.median(np.diff(np.flatnonzero(x)))) == 5 for x in timers if np.count_nonzero(x) > 9)

    free, kept = make_timers(400, make_rng()), make_timers(400, make_rng(), FIVE)
    assert fives(kept) > 0.6 * fives(free) > 20


def test_bending_moves_by_a_minute_or_loses_hits_and_never_invents_one() -> None:
    marks = np.zeros(DAY)
    marks[100:1300:10] = 2.0
    for seed in range(20):
        bent = bend(marks, make_rng(seed))
        assert 80 <= np.count_nonzero(bent) <= 120
        assert all(marks[max(m - 1, 0) : m + 2].any() for m in np.flatnonzero(bent))


def test_days_hold_the_exemplars_in_proportion_to_their_weight() -> None:
    counts = np.zeros((2, DAY))
    counts[0, 700] = 1
    counts[1, 100:110] = 1
    days = draw_days(Exemplars(counts, np.array([3.0, 1.0])), np.ones((1, DAY)), 800, make_rng())
    hits = (days > 0).sum(1)
    ratio = np.count_nonzero(hits == 1) / np.count_nonzero(hits == 10)
    assert 2.0 < ratio < 5.0


def test_need_is_concurrency_rounded_up_and_at_least_one_where_anything_ran() -> None:
    assert needs(np.array([0.0, 1e-4, 1.0, 1.01, 1e9])).tolist() == [0, 1, 1, 2, MAX_NEED]


def test_marks_are_positive_exactly_where_something_was_called() -> None:
    counts = np.zeros(DAY)
    counts[::9] = 4
    for seed in range(10):
        assert np.array_equal(draw_marks(counts, make_rng(seed)) > 0, counts > 0)


def test_every_row_is_learned_at_level_one_and_rows_with_more_at_one_further_level() -> None:
    need = np.zeros((3, DAY))
    need[:, 5] = [1, 4, 2]
    got = draw_levels(need, make_rng()).tolist()
    assert got[:3] == [[0, 1], [1, 1], [2, 1]]
    assert [row for row, _ in got[3:]] == [1, 2]
    assert 2 <= got[3][1] <= 4
    assert got[4][1] == 2


def test_minutes_of_decision_are_drawn_more_than_plain_ones() -> None:
    on = np.zeros((1, DAY), dtype=bool)
    on[0, [300, 310, 320]] = True
    share = minute_shares(on)[0]
    assert share[310] == 1.0
    assert share[300] > share[325] > share[1000] > share[10] > 0


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_weights_give_back_the_whole_day(share: float) -> None:
    rng = make_rng(3)
    marks = (rng.random((300, DAY)) < 0.05).astype(np.float64)
    batch = draw_queries(marks, share, rng)
    assert float(batch.weight.sum()) == pytest.approx(marks.size, rel=0.03)
    assert float((batch.weight * batch.hit).sum()) == pytest.approx(marks.sum(), rel=0.06)
    row, _, minute = batch.queries.T
    np.testing.assert_array_equal(batch.hit, marks[row, minute])
