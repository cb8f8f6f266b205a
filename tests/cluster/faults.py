"""What can go wrong between a client and an API server, as values that the fault proxy carries out.

Faults of the connection (cut, half-open, slow) are the link's; these are of HTTP: whole answers and lines of a watch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusal in Kubernetes' form, without asking the server."""

    status: int
    reason: str = ""
    message: str = "made by the fault proxy"
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class Delay:
    """The request waits this long before it goes on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Skew:
    """The server's clock, as its Date header tells it, is off by this much."""

    seconds: float


@dataclass(frozen=True, slots=True)
class GoneLine:
    """In place of the next line of a watch: an ERROR event with 410, and the end."""


@dataclass(frozen=True, slots=True)
class OversizeLine:
    """The next line of a watch has so many bytes, all of them blanks before its newline."""

    size: int


@dataclass(frozen=True, slots=True)
class TruncatedLine:
    """Half of the next line of a watch, then the end: as a proxy would end it, or broken off where `broken`."""

    broken: bool = False


@dataclass(frozen=True, slots=True)
class LostLine:
    """The next line of a watch never arrives; those after it do."""


@dataclass(frozen=True, slots=True)
class Drip:
    """A watch's bytes come at this rate."""

    bytes_per_s: float


LineFault: TypeAlias = GoneLine | OversizeLine | TruncatedLine | LostLine | Drip
Fault: TypeAlias = Answer | Delay | Skew | LineFault


@dataclass(slots=True)
class Rule:
    """A fault for requests whose path matches `path` (a whole regular expression); may be added and removed live.

    watch: only watches (True), only others (False), both (None). times: how often it strikes, None for always; a line
    fault strikes at a line and not at a request, so it also reaches watches that are open already.
    """

    fault: Fault
    path: str = ".*"
    method: str | None = None
    watch: bool | None = None
    times: int | None = None

    def strikes(self, method: str, path: str, *, watch: bool) -> bool:
        """Whether it holds for this request; one of its times is then used up."""
        fits = (
            self.times != 0
            and self.method in (None, method)
            and self.watch in (None, watch)
            and re.fullmatch(self.path, path) is not None
        )
        if fits and self.times is not None:
            self.times -= 1
        return fits


def struck(rules: list[Rule], request: tuple[str, str, bool], chosen: Callable[[Fault], bool]) -> tuple[Fault, ...]:
    """The faults among those `chosen` that strike a request (method, path, watch) now, in the order of the rules."""
    method, path, watch = request
    return tuple(rule.fault for rule in rules if chosen(rule.fault) and rule.strikes(method, path, watch=watch))


def status_body(status: int, reason: str, message: str) -> bytes:
    """A Status object as an API server writes it."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": status,
    }
    return json.dumps(body).encode()


def gone_line() -> bytes:
    """The event with which a watch says that its resourceVersion is too old."""
    status = status_body(410, "Expired", "too old resource version: 1 (2)").decode()
    return f'{{"type":"ERROR","object":{status}}}\n'.encode()
