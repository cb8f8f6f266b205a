"""Timers are found among other calls, with jitter and gaps; what is no timer is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.forecast.local.timers import Timer, find_timers
from prewarm.forecast.series import SeriesBatch
from tests.forecast.made import LEVELS, MONDAY, batch_of, every


@pytest.mark.parametrize("period", [2, 5, 10, 15, 30, 60, 120, 240])
@pytest.mark.parametrize("phase", [0, 1])
def test_every_usual_period_is_found_at_its_phase(period: int, phase: int) -> None:
    batch = batch_of(every(period, 1_440, phase=phase))
    timers = find_timers(batch)
    assert timers.period.tolist() == [period]
    chances = timers.chances(round(batch.end / 60), period)[0]
    due = (phase - 1_440) % period
    assert chances[due] > 0.9
    assert np.delete(chances, due).max() < 0.1


def test_a_timer_is_not_taken_for_its_multiples_or_divisors() -> None:
    timers = find_timers(batch_of(every(10, 1_440), every(20, 1_440), every(60, 1_440)))
    assert timers.period.tolist() == [10, 20, 60]


def test_jitter_of_a_minute_is_allowed_for() -> None:
    rng = np.random.default_rng(4)
    values = np.zeros(1_440)
    values[np.arange(30, 1_440, 30) + rng.integers(-1, 2, 47)] = 1.0
    batch = batch_of(values)
    timers = find_timers(batch)
    assert timers.period.tolist() == [30]
    chances = timers.chances(round(batch.end / 60), 31)[0]
    assert chances[[29, 30]].min() > 0.2
    assert chances[5:25].max() < 0.05


def test_a_timer_is_found_among_other_calls() -> None:
    rng = np.random.default_rng(5)
    values = np.maximum(every(30, 1_440), rng.uniform(size=1_440) < 0.03)
    timers = find_timers(batch_of(values))
    assert timers.period.tolist() == [30]
    assert 0.01 < timers.others[0] < 0.06


@pytest.mark.parametrize("kind", ["random", "busy", "silent", "once", "stopped", "unknown"])
def test_what_is_no_timer_is_not_taken_for_one(kind: str) -> None:
    rng = np.random.default_rng(6)
    shapes = {
        "random": (rng.uniform(size=1_440) < 0.05).astype(np.float64),
        "busy": np.ones(1_440),
        "silent": np.zeros(1_440),
        "once": every(10_000, 1_440),
        "stopped": np.r_[every(30, 1_000), np.zeros(440)],
        "unknown": np.full(1_440, np.nan),
    }
    assert find_timers(batch_of(shapes[kind])).period.tolist() == [0]


def test_few_random_functions_in_a_thousand_look_like_timers() -> None:
    rng = np.random.default_rng(7)
    rate = rng.uniform(0.001, 0.3, (1_000, 1))
    values = (rng.uniform(size=(1_000, 1_440)) < rate).astype(np.float64)
    batch = SeriesBatch(values, 60, MONDAY, tuple(map(str, range(1_000))))
    assert (find_timers(batch).period > 0).mean() < 0.02


def test_daily_timers_need_three_days_and_phases_are_absolute() -> None:
    values = every(1_440, 5 * 1_440, phase=400)
    batch = batch_of(values)
    timers = find_timers(batch)
    assert timers.period.tolist() == [1_440]
    cut = batch.until(4 * 1_440 + 400, window=3 * 1_440 + 400)
    assert find_timers(cut).chances(round(cut.end / 60), 1)[0, 0] > 0.85


def test_the_forecaster_knows_the_size_and_falls_back_without_a_timer() -> None:
    rng = np.random.default_rng(8)
    random_calls = (rng.uniform(size=1_440) < 0.05).astype(np.float64)
    answer = Timer().predict(batch_of(every(15, 1_440, size=4.0), random_calls), 16, LEVELS)
    assert answer.used == ("timer", "tsb")
    assert answer.reasons[0] == "timer every 15 min, met 100% of the time"
    assert answer.p_at_least[0, 0, 3] > 0.9
    assert answer.quantiles[0, 0].tolist()[1:] == [4.0, 4.0, 4.0]
    assert answer.p_at_least[0, 7, 0] < 0.05
    assert answer.reasons[1] == "no timer found; smoothed chance of a call"


def test_other_grains_than_minutes_work() -> None:
    hourly = batch_of(every(6, 240, phase=2), step_s=3_600)
    assert find_timers(hourly).period.tolist() == [6]
    odd = batch_of(every(6, 240), step_s=7)
    assert find_timers(odd).period.tolist() == [0]


def test_a_timer_that_rests_at_night_is_known_by_day_and_not_expected_at_night() -> None:
    minutes = np.arange(2 * 1_440)
    by_day = ((minutes % 10 == 0) & (minutes % 1_440 >= 480) & (minutes % 1_440 < 1_080)).astype(np.float64)
    afternoon = batch_of(by_day[: 1_440 + 900])
    timers = find_timers(afternoon)
    assert timers.period.tolist() == [10]
    assert timers.chances(round(afternoon.end / 60), 1)[0, 0] > 0.9
    night = batch_of(by_day[: 1_440 + 1_200])
    assert find_timers(night).period.tolist() == [0]


def test_a_timer_younger_than_the_history_is_judged_by_what_is_known() -> None:
    values = np.r_[np.full(1_000, np.nan), every(30, 440)]
    assert find_timers(batch_of(values)).period.tolist() == [30]
