"""A promotion seen yesterday, or last week, is expected again at the same local time."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from prewarm.domain import FloatArray
from prewarm.forecast.local.intermittent import Intermittent
from prewarm.forecast.local.peaks import ONCE, TWICE, RepeatedPeaks, peak_heights
from prewarm.forecast.series import SeriesBatch
from tests.forecast.made import LEVELS, MONDAY, batch_of

UTC, BERLIN = ZoneInfo("UTC"), ZoneInfo("Europe/Berlin")
QUIET = Intermittent("tsb")


def with_peaks(days: int, at_minutes: list[int], size: float = 80.0) -> FloatArray:
    values = np.ones(days * 1_440)
    for at in at_minutes:
        values[at : at + 3] = size
    return values


def test_a_peak_stands_far_above_the_hours_around_it() -> None:
    heights = peak_heights(batch_of(with_peaks(1, [700]), np.full(1_440, 80.0)))
    assert np.flatnonzero(heights[0]).tolist() == [700, 701, 702]
    assert not heights[1].any()


@pytest.mark.parametrize(
    ("at", "chance", "text"),
    [
        pytest.param([1_440 * 14 - 1_440 + 30], ONCE, "yesterday", id="yesterday"),
        pytest.param([1_440 * 14 - 1_440 + 30, 1_440 * 14 - 2_880 + 31], TWICE, "yesterday", id="two-days-running"),
        pytest.param([1_440 * 7 + 30], ONCE, "last week", id="last-week"),
        pytest.param([1_440 * 7 + 30, 30], TWICE, "last week", id="two-weeks-running"),
    ],
)
def test_it_is_expected_again(at: list[int], chance: float, text: str) -> None:
    answer = RepeatedPeaks(QUIET, UTC).predict(batch_of(with_peaks(14, at)), 60, LEVELS)
    assert answer.p_at_least[0, 31, 3] == pytest.approx(chance)
    assert answer.quantiles[0, 31, -1] == 80.0
    assert answer.p_at_least[0, 10, 3] < 0.1
    assert f"a peak of 80 at the same time {text}" in answer.reasons[0]


def test_without_an_earlier_peak_the_inner_forecast_stands() -> None:
    batch = batch_of(with_peaks(3, [1_440 + 900]))
    plain, raised = QUIET.predict(batch, 60, LEVELS), RepeatedPeaks(QUIET, UTC).predict(batch, 60, LEVELS)
    np.testing.assert_array_equal(raised.mean, plain.mean)
    assert raised.reasons == plain.reasons


def test_the_same_time_is_that_of_the_wall_clock() -> None:
    """A sale at 18:00 local time on the day before the clock goes forward is 23 hours ago, not 24."""
    start = datetime(2026, 3, 28, tzinfo=BERLIN).timestamp()
    length = 1_440 + 16 * 60  # Saturday, and Sunday until 17:00 by the new time
    values = np.ones((1, length))
    values[0, 18 * 60 : 18 * 60 + 3] = 80.0
    batch = SeriesBatch(values, 60, start, ("f0",))
    answer = RepeatedPeaks(QUIET, BERLIN).predict(batch, 120, LEVELS)
    raised = np.flatnonzero(answer.p_at_least[0, :, 3] >= ONCE)
    assert raised.min() == 55
    assert raised.max() == 67
    assert MONDAY > 0


def test_a_history_too_short_for_yesterday_is_no_error() -> None:
    answer = RepeatedPeaks(QUIET, UTC).predict(batch_of(np.ones(30)), 5, LEVELS)
    assert answer.mean.shape == (1, 5)
