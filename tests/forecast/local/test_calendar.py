"""Local time, changes of the clock, and what is announced."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import Forecast, InputError
from prewarm.forecast.batch import forecasts
from prewarm.forecast.local.calendar import (
    DAY_S,
    announce,
    is_weekend,
    local_seconds,
    raise_to,
    step_times,
    zone_named,
)
from prewarm.forecast.local.intermittent import Intermittent
from prewarm.settings import Event
from tests.forecast.made import LEVELS, MONDAY, batch_of

BERLIN, KOLKATA = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata")


@given(st.integers(0, 2_000_000_000), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"]))
def test_local_seconds_are_what_a_wall_clock_shows(at: int, name: str) -> None:
    zone = ZoneInfo(name)
    shown = datetime.fromtimestamp(at, zone)
    found = int(local_seconds(np.array([float(at)]), zone)[0]) % DAY_S
    assert found == shown.hour * 3_600 + shown.minute * 60 + shown.second


def test_the_clock_is_put_forward_in_one_night_of_march() -> None:
    before = datetime(2026, 3, 29, 0, 30, tzinfo=BERLIN).timestamp()
    local = local_seconds(step_times(before, 3_600, 4), BERLIN) % DAY_S // 3_600
    assert local.tolist() == [0, 1, 3, 4]


def test_half_hour_zones_are_known() -> None:
    assert int(local_seconds(np.array([MONDAY]), KOLKATA)[0]) % DAY_S == 5.5 * 3_600


def test_weekends_are_those_of_the_local_calendar() -> None:
    late_sunday = MONDAY - 1_800.0
    assert is_weekend(local_seconds(np.array([late_sunday, MONDAY]), ZoneInfo("UTC"))).tolist() == [1.0, 0.0]
    assert is_weekend(local_seconds(np.array([late_sunday]), BERLIN)).tolist() == [0.0]


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd"])
def test_a_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="zone: is no time zone"):
        zone_named(name)


def quiet(steps: int = 10) -> Forecast:
    """What is expected of a function that was never called, from MONDAY 01:00 on."""
    batch = batch_of(np.zeros(60))
    return next(iter(forecasts(Intermittent("tsb").predict(batch, steps, LEVELS), batch)))


def sale(function: str = "f*", first: int = 2, last: int = 5) -> Event:
    """Three instances announced from minute `first` to `last` of that hour."""
    hour = datetime(2026, 1, 5, 1, tzinfo=ZoneInfo("UTC"))
    return Event("sale", function, hour + timedelta(minutes=first), hour + timedelta(minutes=last), need=3, sure=0.9)


def test_an_announced_event_raises_its_functions_in_its_steps_only() -> None:
    raised = announce(quiet(), [sale()])
    assert raised.p_at_least[:, 2].tolist() == [0, 0, 0.9, 0.9, 0.9, 0, 0, 0, 0, 0]
    assert not raised.p_at_least[:, 3].any()
    assert raised.quantiles[2].tolist() == [0.0, 3.0, 3.0, 3.0]
    assert raised.mean[2] == pytest.approx(2.7)
    assert raised.reason == "never called; announced: sale, 2026-01-05T01:02:00Z to 2026-01-05T01:05:00Z"


@pytest.mark.parametrize(
    "event",
    [sale("shop/*"), sale(first=-9, last=0), sale(first=10, last=20)],
    ids=["another-function", "over-already", "after-the-last-step"],
)
def test_an_event_of_other_functions_or_another_time_changes_nothing(event: Event) -> None:
    forecast = quiet()
    assert announce(forecast, [event]) is forecast


def test_of_two_events_the_larger_is_expected() -> None:
    small = replace(sale(), name="small", need=1, sure=0.99)
    raised = announce(quiet(), [sale(), small])
    assert raised.p_at_least[2, :4].tolist() == [0.99, 0.9, 0.9, 0.0]


def test_knowledge_only_raises() -> None:
    busy = Intermittent("tsb").predict(batch_of(np.full(60, 9.0)), 2, LEVELS)
    raised = raise_to(busy, np.full((1, 2), 1.0), np.full((1, 2), 0.5), ["less than usual"])
    np.testing.assert_array_equal(raised.mean, busy.mean)
    np.testing.assert_array_equal(raised.quantiles, busy.quantiles)
    np.testing.assert_array_equal(raised.p_at_least, busy.p_at_least)
