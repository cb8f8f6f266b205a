"""Calendar experts: a nightly job, office hours, a weekly event, and never a look ahead."""

from __future__ import annotations

import numpy as np
import pytest

from prewarm.domain import Float32Array
from prewarm.forecast.experts.calendar_kernel import DAY, calendar_chances
from prewarm.forecast.experts.opinions import CALENDAR as EXPERTS

MONDAY = 4 * DAY  # 1970-01-05, minutes since the epoch


def said(
    minutes: list[int], now: int, *, level: int = 1, needs: list[int] | None = None, since: int = MONDAY
) -> Float32Array:
    """The nine opinions on one function with these hits."""
    hit = np.array(sorted(minutes), np.int32)
    need = np.array(needs or [1] * len(minutes), np.int32)
    asked = np.array([[0, level]], np.int32)
    answer: Float32Array = calendar_chances(
        (hit, need, np.array([0, len(hit)], np.int64)), np.array([since], np.int32), asked, now, 14
    )
    opinions: Float32Array = answer[0]
    return opinions


def test_nothing_is_said_before_a_day_is_known() -> None:
    """No opinion is not an opinion of zero."""
    assert np.isnan(said([MONDAY + 5], MONDAY + DAY - 1)).all()


def test_a_nightly_job_is_expected_at_its_minute_and_not_beside_it() -> None:
    """Four nights at 03:00; the fifth is all but certain at that minute only."""
    nights = [MONDAY + day * DAY + 180 for day in range(4)]
    exact = EXPERTS.index("all days, +-0 min")
    assert said(nights, MONDAY + 4 * DAY + 180)[exact] > 0.85
    assert said(nights, MONDAY + 4 * DAY + 181)[exact] < 0.01


def test_a_few_minutes_of_jitter_are_covered_by_the_wider_expert() -> None:
    """Once in seven minutes around the same time each day: one in seven."""
    nights = [MONDAY + day * DAY + 180 + shift for day, shift in enumerate((-2, 1, 0, 3))]
    assert said(nights, MONDAY + 4 * DAY + 180)[EXPERTS.index("all days, +-3 min")] == pytest.approx(1 / 7, abs=0.02)


def test_a_job_of_working_days_is_not_expected_on_saturday() -> None:
    """Five working days seen: the same-kind expert is silent on the first Saturday and sure on the next Monday."""
    work = [MONDAY + day * DAY + 540 for day in range(5)]
    kind = EXPERTS.index("same kind of day, +-0 min")
    assert np.isnan(said(work, MONDAY + 5 * DAY + 540)[kind])
    assert said(work, MONDAY + 7 * DAY + 540)[kind] > 0.8


def test_a_weekly_event_is_known_after_one_week() -> None:
    """Only the weekday expert sees it."""
    opinions = said([MONDAY + 600], MONDAY + 7 * DAY + 600)
    assert opinions[EXPERTS.index("same weekday, +-0 min")] > 0.5
    assert opinions[EXPERTS.index("all days, +-0 min")] < 0.15


def test_a_level_counts_only_what_reached_it() -> None:
    """Two of three days needed a second instance."""
    hits = [MONDAY + day * DAY + 60 for day in range(3)]
    second = said(hits, MONDAY + 3 * DAY + 60, level=2, needs=[2, 1, 2])[EXPERTS.index("all days, +-0 min")]
    first = said(hits, MONDAY + 3 * DAY + 60, level=1, needs=[2, 1, 2])[EXPERTS.index("all days, +-0 min")]
    assert 0.5 < second < 0.7 < first


def test_what_comes_later_changes_nothing() -> None:
    """The same answer with and without the future."""
    past, now = [MONDAY + day * DAY + 180 for day in range(4)], MONDAY + 4 * DAY + 175
    future = [now, now + 1, now + 5, now + DAY]
    np.testing.assert_array_equal(said(past, now), said(past + future, now))
