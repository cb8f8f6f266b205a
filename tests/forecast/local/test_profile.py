"""Daily and weekly profiles follow the wall clock, also over the night it changes."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from prewarm.domain import FloatArray
from prewarm.forecast.local.calendar import DAY_S, is_weekend, local_seconds, step_times
from prewarm.forecast.local.profile import DayProfile
from prewarm.forecast.series import SeriesBatch
from tests.forecast.made import LEVELS, MONDAY, batch_of

UTC, BERLIN = ZoneInfo("UTC"), ZoneInfo("Europe/Berlin")


def office_hours(start: float, count: int, zone: ZoneInfo, step_s: int = 900) -> FloatArray:
    """20 calls a step from nine to five local time on weekdays, 2 otherwise."""
    local = local_seconds(step_times(start, step_s, count), zone)
    hour = local % DAY_S // 3_600
    busy = (hour >= 9) & (hour < 17) & (is_weekend(local) == 0)
    return np.where(busy, 20.0, 2.0)


def profiled(start: float, days: int, ahead_days: int, zone: ZoneInfo) -> tuple[FloatArray, FloatArray]:
    length, steps = days * 96, ahead_days * 96
    whole = office_hours(start, length + steps, zone)
    batch = SeriesBatch(whole[None, :length], 900, start, ("f0",))
    return DayProfile(zone).predict(batch, steps, LEVELS).mean[0], whole[length:]


def test_a_day_repeats() -> None:
    mean, actual = profiled(MONDAY, 3, 1, UTC)
    np.testing.assert_allclose(mean, actual, rtol=0.02)


def test_weekends_are_kept_apart_once_there_were_some() -> None:
    mean, actual = profiled(MONDAY, 12, 4, UTC)  # Saturday and Sunday first, then weekdays
    np.testing.assert_allclose(mean, actual, rtol=0.05)


def test_the_morning_stays_at_nine_when_the_clock_changes() -> None:
    start = datetime(2026, 3, 23, tzinfo=BERLIN).timestamp()  # the clock is put forward on Sunday the 29th
    mean, actual = profiled(start, 8, 1, BERLIN)
    np.testing.assert_allclose(mean[-24:], actual[-24:], rtol=0.35)
    in_utc, _ = profiled(start, 8, 1, UTC)
    moved = np.flatnonzero(np.diff(actual) > 0)[0] + 1
    assert mean[moved] > 15
    assert mean[moved - 1] < 8
    assert in_utc.shape == mean.shape


def test_a_busier_hour_than_usual_raises_the_next_and_fades() -> None:
    length = 3 * 96
    values = np.full(length, 10.0)
    values[-4:] = 20.0
    mean = DayProfile(UTC).predict(batch_of(values, step_s=900), 96, LEVELS).mean[0]
    assert 13.0 < mean[0] < 20.0  # the profile has taken the busy hour in, too
    assert 10.0 < mean[60] < 10.2
    assert mean[0] > mean[8] > mean[30]


def test_intervals_cover_counts_around_the_profile() -> None:
    rng = np.random.default_rng(1)
    rate = np.tile(6 + 5 * np.sin(np.arange(96) / 96 * 2 * np.pi), 11)
    counts = rng.poisson(rate, (80, 11 * 96)).astype(np.float64)
    batch = SeriesBatch(counts[:, : 10 * 96], 900, MONDAY, tuple(map(str, range(80))))
    answer = DayProfile(UTC).predict(batch, 96, LEVELS)
    actual = counts[:, 10 * 96 :]
    covered = ((actual >= answer.quantiles[..., 0]) & (actual <= answer.quantiles[..., -1])).mean()
    assert covered == pytest.approx(0.95, abs=0.04)
    said, seen = answer.p_at_least[..., 0].mean(), (actual >= 1).mean()
    assert said == pytest.approx(seen, abs=0.03)


def test_unknown_days_do_not_pull_the_profile_down() -> None:
    values = office_hours(MONDAY, 4 * 96, UTC)
    values[96:192] = np.nan
    mean = DayProfile(UTC).predict(batch_of(values, step_s=900), 48, LEVELS).mean[0]
    assert mean[9 * 4] == pytest.approx(20.0, rel=0.05)


def test_under_two_days_plain_smoothing_speaks_and_says_why() -> None:
    answer = DayProfile(UTC).predict(batch_of(np.full(90, 3.0)), 2, LEVELS)
    assert answer.used == ("smoothing",)
    assert answer.reasons[0].startswith("history of 0.1 days is shorter than 2 days")
