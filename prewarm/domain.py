"""The frozen values that travel between the parts of prewarm.

A decision must be explainable long after it was made, by the log, the page and the simulator alike, so what goes into
it and what comes out are plain values without behaviour that touches a clock, a network or a random generator. Absent
data is a value of its own (`DataState`, `Decision.held`, NaN in count arrays) and never a zero.

Times are seconds since the epoch (UTC) as float; a *minute* is an integer, floor(seconds / 60).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NewType, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

FunctionKey = NewType("FunctionKey", str)

COLD_COST = 0.808  # RUM's price of one cold start (FeMux, EuroSys'26)
IDLE_COST_PER_GB_S = 1 / 99.69  # RUM's price of one wasted GB-second, GB of 1,000 MB

_ULID = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_PAIRS = tuple(one + other for one in _ULID for other in _ULID)
"""Two characters, ten bits, at a time: every decision has an id."""
_KEY = re.compile(r"[^\s/%\x00-\x1f\x7f]{1,253}/[^\s/%\x00-\x1f\x7f]{1,253}")
_YEAR_1, _YEAR_10000 = -62_135_596_800, 253_402_300_800  # what a datetime can hold, in seconds since the epoch


class PrewarmError(Exception):
    """Anything that prewarm itself reports; the text is one line for the person at the keyboard."""


class InputError(PrewarmError):
    """Bad input or wrong use: names the place and the rule. Exit status 2, HTTP 4xx."""


class DataState(StrEnum):
    """What is known of a function's recent demand; `none` and `stale` are never read as zero."""

    OK = "ok"
    PARTIAL = "partial"
    STALE = "stale"
    NONE = "none"


class Mode(StrEnum):
    """`shadow` decides and records, `active` also acts, `paused` does neither."""

    SHADOW = "shadow"
    ACTIVE = "active"
    PAUSED = "paused"


class Action(StrEnum):
    """What an override does; see design §4."""

    PIN = "pin"
    FLOOR = "floor"
    CEILING = "ceiling"
    FREEZE = "freeze"
    EXCLUDE = "exclude"
    PAUSE_UP = "pause_up"
    PAUSE_DOWN = "pause_down"


@dataclass(frozen=True, slots=True)
class Reason:
    """One factor of a decision: its value, what it was held against, and a sentence for people."""

    factor: str
    text: str
    value: float | None = None
    against: float | None = None


@dataclass(frozen=True, slots=True)
class Override:
    """A person's word on one function (optionally in one cluster); it wins over every policy until it expires.

    `expires_at` None means until it is deleted. `value` is a number of instances for pin, floor and ceiling.
    """

    function: FunctionKey
    cluster: str | None
    action: Action
    value: int | None
    owner: str
    reason: str
    created_at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """Demand of one function for the coming steps, as a distribution.

    mean: (steps,), quantiles: (steps, len(levels)), p_at_least: (steps, K) where column k-1 is P(N >= k) of the
    instances needed. All finite, non-negative; quantiles rise with their level.
    """

    function: FunctionKey
    issued_at: float
    step_s: int
    model: str
    reason: str
    data: DataState
    levels: tuple[float, ...]
    mean: FloatArray
    quantiles: FloatArray
    p_at_least: FloatArray


@dataclass(frozen=True, slots=True)
class PolicyTag:
    """Who decided: the policy, its version, and whether (and why) the plain rule stood in for a learned part."""

    name: str
    version: str
    rule_decided: bool = False
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """How many instances of a function are to be warm from `at` on, with everything needed to explain it."""

    id: str
    at: float
    function: FunctionKey
    cluster: str | None
    from_count: int
    to_count: int
    applied: bool
    mode: Mode
    policy: PolicyTag
    inputs: dict[str, float | str | None]
    reasons: tuple[Reason, ...]
    held: str | None = None
    kind: str = "pool"
    detail: Mapping[str, object] | None = None
    """What only this kind has, as JSON values under the names of the API (a placement's filters and scores)."""


class Applier(Protocol):
    """Carries decisions out; the service is handed a record-only one or one that writes to a cluster."""

    async def apply(self, decisions: tuple[Decision, ...]) -> frozenset[str]:
        """Apply what can be applied; returns the ids that were."""
        ...


def function_key(text: str, place: str = "function") -> FunctionKey:
    """A checked `namespace/name`; InputError naming `place` otherwise."""
    if not _KEY.fullmatch(text):
        raise InputError(f"{place}: must be namespace/name without spaces, is {text[:80]!r}")
    return FunctionKey(text)


def rum(cold: float, waste_gb_s: float) -> float:
    """FeMux's combined cost of cold starts and wasted GB-seconds (EuroSys'26)."""
    return COLD_COST * float(cold) + IDLE_COST_PER_GB_S * float(waste_gb_s)


def decision_id(at: float, function: str, kind: str = "pool") -> str:
    """A sortable 26-character id in ULID's alphabet: 48 bits of milliseconds, then 80 bits of a digest.

    A digest in place of randomness makes a replayed decision carry the id it had in production.
    """
    digest = hashlib.blake2b(f"{kind}|{function}|{at!r}".encode(), digest_size=10).digest()
    number = (int(at * 1000) << 80) | int.from_bytes(digest, "big")
    return "".join([_ULID_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])


def forecast_id(issued_at: float, function: str) -> str:
    """The id by which a decision names the forecast of its minute, and that forecast itself."""
    return decision_id(issued_at // 60 * 60.0, function, "forecast")


def rfc3339(at: float) -> str:
    """`at` as RFC 3339 in UTC, to the second unless it has a fraction."""
    moment = datetime.fromtimestamp(at, UTC)
    text = moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
    return text.replace("+00:00", "Z")


def parse_time(text: str, place: str) -> float:
    """Seconds since the epoch of an RFC 3339 text; a zone is required. InputError naming `place` otherwise.

    What is taken can be written again by `rfc3339`: an offset must not carry the moment out of the years 1 to 9999.
    """
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        raise InputError(f"{place}: must be an RFC 3339 time, is {text[:60]!r}") from None
    if moment.tzinfo is None:
        raise InputError(f"{place}: needs a zone (Z or +hh:mm), is {text[:60]!r}")
    at = moment.timestamp()
    if not _YEAR_1 <= at < _YEAR_10000:
        raise InputError(f"{place}: must be in the years 1 to 9999 (UTC), is {text[:60]!r}")
    return at
