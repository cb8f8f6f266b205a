"""The service's own metrics and its log lines.

Metrics answer the questions that an operator asks at night: is it deciding, on how old data, what does it hold and why,
who decides (model or rule), what does it save against a ten-minute keep-alive, and where does a tick spend its time.
Log lines are JSON objects with a fixed set of fields; nothing that a client sends in a header is ever logged.
"""

from __future__ import annotations

import logging
import sys

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from prewarm.domain import rfc3339

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_API_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5)
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """All metrics of one service, in a registry of their own, so that several may live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own = self.registry
        self.decisions = Counter("prewarm_decisions", "Decisions by what they change", ["change"], registry=own)
        self.holds = Counter("prewarm_holds", "Decisions that could not be made, by reason", ["reason"], registry=own)
        self.decided = Counter(
            "prewarm_decided", "Ticks decided by the learned model or by the plain rule", ["by"], registry=own
        )
        self.functions = Gauge("prewarm_functions", "Functions by the state of their data", ["data"], registry=own)
        self.data_age = Gauge(
            "prewarm_data_age_seconds", "Age of the data of the functions", ["statistic"], registry=own
        )
        self.tick = Histogram(
            "prewarm_tick_seconds", "Time of a tick by phase", ["phase"], buckets=_SECONDS, registry=own
        )
        self.ticks = Counter("prewarm_ticks", "Ticks by outcome", ["outcome"], registry=own)
        self.late = Counter("prewarm_ticks_skipped", "Ticks left out because one before took too long", registry=own)
        self.cold = Counter(
            "prewarm_cold_starts", "Cold starts on the observed calls (live estimate)", ["policy"], registry=own
        )
        self.waste = Counter(
            "prewarm_waste_gb_seconds", "Memory held and not used (live estimate)", ["policy"], registry=own
        )
        self.warm = Gauge("prewarm_warm_instances", "Instances kept warm", ["policy"], registry=own)
        self.overrides = Gauge("prewarm_overrides", "Overrides that hold, by action", ["action"], registry=own)
        self.events = Counter("prewarm_events", "Pushed events by what became of them", ["result"], registry=own)
        self.reloads = Counter("prewarm_config_reloads", "Reloads of the configuration", ["result"], registry=own)
        self.errors = Counter("prewarm_store_errors", "Writes to the database that failed", registry=own)
        self._requests = Histogram(
            "prewarm_http_request_seconds", "Time to answer", ["route", "status"], buckets=_API_SECONDS, registry=own
        )
        self._watched: dict[tuple[str, int], Histogram] = {}

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count one answer of the API."""
        child = self._watched.get((route, status))
        if child is None:
            child = self._watched[route, status] = self._requests.labels(route, str(status))
        child.observe(seconds)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)


_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON object a line: at, level, logger, message, then the extra fields of the call, then the error."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        line: dict[str, object] = {
            "at": rfc3339(round(record.created, 3)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in record.__dict__.items() if name not in _FIELDS}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS).decode()


def log_to_stderr(level: int = logging.INFO) -> None:
    """Send the log of this process to standard error as JSON lines; called once, by the command."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


def without_password(url: str) -> str:
    """A database URL as it may be logged."""
    scheme, separator, rest = url.partition("://")
    login, at, place = rest.rpartition("@")
    if not at or ":" not in login:
        return url
    return f"{scheme}{separator}{login.partition(':')[0]}:***@{place}"
