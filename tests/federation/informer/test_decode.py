"""One line of a watch into an event or the reason why the watch is over."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.informer.reflect.decode import Bookmark, Change, Event, Failure, decode, is_expired
from tests.federation.fakeapi import line, status


@pytest.mark.parametrize(
    ("kind", "change"), [("ADDED", Change.PUT), ("MODIFIED", Change.PUT), ("DELETED", Change.DELETE)]
)
def test_events_carry_key_version_and_identity(kind: str, change: Change) -> None:
    raw = {"metadata": {"name": "p", "namespace": "demo", "resourceVersion": "7", "uid": "u"}}
    assert decode(line(kind, raw)) == Event(change, "demo/p", "7", "u", raw)


def test_what_has_no_namespace_is_known_by_its_name() -> None:
    event = decode(line("ADDED", {"metadata": {"name": "n1", "resourceVersion": "7"}}))
    assert isinstance(event, Event)
    assert (event.key, event.uid) == ("n1", "")


def test_a_bookmark_is_a_version_and_no_object() -> None:
    assert decode(line("BOOKMARK", {"kind": "Node", "metadata": {"resourceVersion": "150"}})) == Bookmark("150")


@pytest.mark.parametrize(
    ("failure", "relist"),
    [
        (status(410, "Expired", "too old resource version: 1 (2)"), True),
        (status(410, "Gone"), True),
        (status(500, "InternalError", "etcdserver: too old resource version"), True),
        (status(500, "InternalError", "something else"), True),
        (status(504, "Timeout", "Too large resource version"), False),
        (status(503, "ServiceUnavailable", "resourceVersion has expired"), True),
        (status(429, "TooManyRequests"), False),
        ({}, True),
    ],
)
def test_an_error_is_a_failure_with_its_text_and_never_an_object(failure: dict[str, object], relist: bool) -> None:
    decoded = decode(line("ERROR", failure))
    assert isinstance(decoded, Failure)
    assert decoded.relist is relist


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[]",
        b"null",
        b'{"type": "ADDED"}',
        b'{"type": "ADDED", "object": {"metadata": {"name": "x"}}}',
        b'{"type": "ADDED", "object": {"metadata": {"resourceVersion": "1"}}}',
        b'{"type": "PURPLE", "object": {"metadata": {"name": "x", "resourceVersion": "1"}}}',
        b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": null}}}',
        b'{"kind": "Status", "code": 410}',
    ],
)
def test_a_line_that_cannot_be_understood_means_that_everything_is_listed_again(raw: bytes) -> None:
    decoded = decode(raw)
    assert isinstance(decoded, Failure)
    assert decoded.relist


@given(st.binary(max_size=60) | st.recursive(st.none() | st.text(), st.lists).map(orjson.dumps))
def test_no_line_is_an_exception(raw: bytes) -> None:
    assert isinstance(decode(raw), Failure)


@pytest.mark.parametrize(
    ("code", "reason", "message", "expired"),
    [
        (410, "", "", True),
        (200, "Expired", "", True),
        (400, "Gone", "", True),
        (500, "", "The resourceVersion for the provided watch is too old: too old resource version", True),
        (500, "", "the provided continue parameter has expired", True),
        (403, "Forbidden", "your token has expired", False),
        (500, "InternalError", "etcdserver: request timed out", False),
        (404, "NotFound", "", False),
    ],
)
def test_that_a_version_has_expired_is_said_in_many_ways(code: int, reason: str, message: str, expired: bool) -> None:
    assert is_expired(code, reason, message) is expired
