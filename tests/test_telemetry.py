"""Metrics by service, log lines as JSON, and nothing in either that should stay secret."""

from __future__ import annotations

import logging
import sys

import numpy as np
import orjson
import pytest

from prewarm.telemetry import JsonLines, Metrics, without_password


def line(record: logging.LogRecord) -> dict[str, object]:
    parsed: dict[str, object] = orjson.loads(JsonLines().format(record))
    return parsed


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("prewarm.test", logging.WARNING, "file", 1, message, arguments, None)
    made.__dict__.update(extra)
    return made


def test_a_log_line_is_one_json_object_with_its_fields() -> None:
    found = line(record("tick %d\nlate", 3, why="slow", count=np.int64(2)))
    at = found.pop("at")
    assert str(at).endswith("Z")
    assert found == {
        "level": "warning",
        "logger": "prewarm.test",
        "message": "tick 3\nlate",
        "why": "slow",
        "count": 2,
    }
    assert b"\n" not in JsonLines().format(record("a\nb")).encode()


def test_an_error_is_in_the_line() -> None:
    made = record("failed")
    try:
        raise ZeroDivisionError("no")
    except ZeroDivisionError:
        made.exc_info = sys.exc_info()
    assert "ZeroDivisionError: no" in str(line(made)["error"])


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:s3cret@db/prewarm", "postgresql://me:***@db/prewarm"),
        ("postgresql://me:p@ss@db/prewarm", "postgresql://me:***@db/prewarm"),
        ("postgresql://me@db/prewarm", "postgresql://me@db/prewarm"),
        ("sqlite:///state/prewarm.db", "sqlite:///state/prewarm.db"),
    ],
)
def test_a_database_is_logged_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_two_services_count_apart() -> None:
    first, second = Metrics(), Metrics()
    first.answered("GET /v1/mode", 200, 0.002)
    first.answered("GET /v1/mode", 200, 0.004)
    count = 'prewarm_http_request_seconds_count{route="GET /v1/mode",status="200"} 2.0'
    assert count in first.text().decode()
    assert count not in second.text().decode()
