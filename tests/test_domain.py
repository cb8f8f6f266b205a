"""Keys, times and ids: what is accepted, what is refused and by which words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.domain import InputError, decision_id, function_key, parse_time, rfc3339


@pytest.mark.parametrize("text", ["shop/checkout", "ns/f-1.v2", "a/b@c", "1/ü"])
def test_a_key_is_a_namespace_and_a_name(text: str) -> None:
    """Kubernetes names and the hashes of the public traces alike."""
    assert function_key(text) == text


@pytest.mark.parametrize("text", ["", "shop", "/x", "x/", "a/b/c", "a b/c", "a/" + "x" * 254, "a\x00/b", "a/%2F"])
def test_anything_else_is_refused_by_its_place(text: str) -> None:
    """The message names the field that held it."""
    with pytest.raises(InputError, match=r"^events\[3\]\.function: must be namespace/name"):
        function_key(text, "events[3].function")


def test_times_need_a_zone() -> None:
    """A local time without a zone would be an hour off twice a year."""
    assert parse_time("2026-11-30T10:00:00Z", "at") == 1796032800.0
    assert parse_time("2026-11-30T11:00:00+01:00", "at") == 1796032800.0
    with pytest.raises(InputError, match="at: needs a zone"):
        parse_time("2026-11-30T10:00:00", "at")
    with pytest.raises(InputError, match="at: must be an RFC 3339 time"):
        parse_time("yesterday", "at")


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_time_that_could_not_be_written_again_is_refused(text: str) -> None:
    """An offset may carry a date beyond the calendar."""
    with pytest.raises(InputError, match="at: must be in the years 1 to 9999"):
        parse_time(text, "at")
    assert rfc3339(parse_time("9999-12-31T23:59:59Z", "at")) == "9999-12-31T23:59:59Z"
    assert parse_time("2026-11-30t10:00:00z", "at") == 1796032800.0


@given(st.integers(0, 4_000_000_000))
def test_times_survive_the_wire(at: int) -> None:
    """Written and read back to the second."""
    assert parse_time(rfc3339(at), "at") == at


def test_ids_sort_by_time_and_repeat_for_the_same_decision() -> None:
    """A replay carries the ids of production; another function or kind gets another one."""
    early, late = decision_id(1e9, "a/b"), decision_id(1e9 + 0.001, "a/a")
    assert early < late
    assert len(early) == 26
    assert decision_id(1e9, "a/b") == early
    assert decision_id(1e9, "a/b", "placement") != early
