"""What a reflector does next, as a table: no clock, no network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.informer.reflect.course import CALM_S, FIRST_PAUSE_S, LONGEST_PAUSE_S, SHORT_S, Course

AT_100 = Course("100")


def test_it_begins_with_a_list_at_once() -> None:
    assert Course().version is None
    assert Course().pause_s(0.5) == 0.0


def test_a_watch_that_the_server_ends_after_its_time_goes_on_from_where_it_was() -> None:
    after = Course("150", failures=3).ended(400.0, 9, asked_s=400.0)
    assert after == Course("150")
    assert after.pause_s(0.0) == 0.0


def test_a_watch_that_was_to_be_short_and_kept_its_word_is_no_accident() -> None:
    assert AT_100.ended(2.9, 0, asked_s=3.0) == AT_100
    assert AT_100.ended(2.0, 0, asked_s=3.0).empty_ends == 1


def test_a_cut_goes_on_from_where_it_was_after_a_pause() -> None:
    after = AT_100.moved("150").cut()
    assert after.version == "150"
    assert after.pause_s(0.0) == FIRST_PAUSE_S


def test_an_expired_version_means_a_list_after_a_pause() -> None:
    assert AT_100.lost() == Course(None, failures=1)


def test_one_empty_end_is_an_accident_and_two_mean_a_list() -> None:
    once = AT_100.ended(0.1, 0, asked_s=400.0)
    assert (once.version, once.empty_ends) == ("100", 1)
    twice = once.ended(0.1, 0, asked_s=400.0)
    assert (twice.version, twice.empty_ends, twice.failures) == (None, 0, 2)


def test_a_line_between_two_empty_ends_forgives_the_first() -> None:
    course = AT_100.ended(0.1, 0, asked_s=400.0).moved("101").ended(0.1, 1, asked_s=400.0)
    assert course.ended(0.1, 0, asked_s=400.0).version == "101"


def test_a_quiet_collection_behind_a_balancer_that_cuts_every_ten_seconds_is_not_listed_again() -> None:
    course = AT_100
    for _ in range(50):
        course = course.ended(SHORT_S * 2, 0, asked_s=400.0)
    assert course.version == "100"
    assert course.pause_s(0.0) == 0.0


def test_repeated_410s_are_a_few_lists_in_ten_seconds() -> None:
    course, clock, lists = Course(), 0.0, 0
    while clock < 10.0:
        lists += 1
        course = course.listed("100").lost(lived_s=0.01)
        clock += course.pause_s(1.0)  # the shortest that it can be
    assert lists <= 6


def test_a_server_that_ends_every_watch_after_one_line_is_asked_less_and_less() -> None:
    course, clock, watches = AT_100, 0.0, 0
    while clock < 60.0:
        watches += 1
        course = course.moved("101").ended(0.01, 1, asked_s=400.0)
        clock += course.pause_s(1.0)
    assert watches <= 9


@pytest.mark.parametrize("kind", ["cut", "lost"])
def test_a_long_calm_makes_good_for_old_failures(kind: str) -> None:
    worn = Course("100", failures=12)
    after = worn.cut(CALM_S) if kind == "cut" else worn.lost(CALM_S)
    assert after.failures == 1


KINDS = st.sampled_from(["list", "move", "end", "cut", "lost"])


@given(st.lists(st.tuples(KINDS, st.floats(0, 600), st.integers(0, 3))))
def test_a_pause_is_always_finite_and_failures_always_cost_one(events: list[tuple[str, float, int]]) -> None:
    course = Course()
    for kind, lived_s, lines in events:
        before = course
        match kind:
            case "list":
                course = course.listed("1")
            case "move":
                course = course.moved("2")
            case "end":
                course = course.ended(lived_s, lines, asked_s=400.0)
            case "cut":
                course = course.cut(lived_s)
            case _:
                course = course.lost(lived_s)
        assert 0.0 <= course.pause_s(0.0) <= LONGEST_PAUSE_S
        assert (course.pause_s(1.0) > 0) is (course.failures > 0)
        assert course.version is not None or kind in ("lost", "end") or before.version is None
