"""Local time, changes of the clock, and what is announced."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import InputError
from prewarm.forecast.local.calendar import (
    DAY_S,
    Hint,
    announce,
    is_weekend,
    local_seconds,
    raise_to,
    step_times,
    zone_named,
)
from prewarm.forecast.local.intermittent import Intermittent
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


def test_an_announced_event_raises_its_functions_in_its_steps_only() -> None:
    batch = batch_of(np.zeros(60), np.zeros(60))
    quiet = Intermittent("tsb").predict(batch, 10, LEVELS)
    hint = Hint("sale", "f1", batch.end + 120, batch.end + 300, expected=3.0, sure=0.9)
    raised = announce(quiet, batch, [hint])
    assert raised.p_at_least[1, :, 2].tolist() == [0, 0, 0.9, 0.9, 0.9, 0, 0, 0, 0, 0]
    assert not raised.p_at_least[1, :, 3].any()
    assert not raised.p_at_least[0].any()
    assert raised.quantiles[1, 2].tolist() == [0.0, 3.0, 3.0, 3.0]
    assert raised.mean[1, 2] == pytest.approx(2.7)
    assert raised.reasons[1].endswith("announced: sale, 2026-01-05T01:02:00Z to 2026-01-05T01:05:00Z")
    assert raised.reasons[0] == "never called"


def test_a_hint_for_other_functions_or_another_time_changes_nothing() -> None:
    batch = batch_of(np.zeros(60))
    quiet = Intermittent("tsb").predict(batch, 5, LEVELS)
    hints = [Hint("other", "shop/*", batch.end, batch.end + 60, 3.0), Hint("past", "*", 0.0, batch.end, 3.0)]
    assert announce(quiet, batch, hints) is quiet


def test_knowledge_only_raises() -> None:
    busy = Intermittent("tsb").predict(batch_of(np.full(60, 9.0)), 2, LEVELS)
    raised = raise_to(busy, np.full((1, 2), 1.0), np.full((1, 2), 0.5), ["less than usual"])
    np.testing.assert_array_equal(raised.mean, busy.mean)
    np.testing.assert_array_equal(raised.quantiles, busy.quantiles)
    np.testing.assert_array_equal(raised.p_at_least, busy.p_at_least)


@pytest.mark.parametrize(
    "wrong",
    [{"end": 0.0}, {"expected": -1.0}, {"sure": 0.0}, {"sure": 1.0}],
    ids=["end", "expected", "never", "surely"],
)
def test_a_hint_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    fields = {"start": 0.0, "end": 60.0, "expected": 1.0} | wrong
    with pytest.raises(InputError, match="hint sale: end must be after start"):
        Hint("sale", "*", **fields)
