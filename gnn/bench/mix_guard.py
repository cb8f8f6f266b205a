"""The learned policy of the serverless mix under its guard: what the guard sees, when it hands over, what is usual.

The guard sees the pooled graph as in the other worlds, and columns of this one: the age of what the clusters tell, how
long the starts took that ended in the minute before, prices, delays and rooms beside those at its beginning (two
prices that swap and a cluster that loses some nodes are usual here, so only what goes beyond counts), how forecast
calls stand to those heard over the last half hour and these to the last minute's, and the use that clusters tell
beside the memory that is known to be warm there. It hands over to the rule that action zero is, for good, in the
decision in which it sees something.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnn.bench.mix_shifts import Shift
from gnn.graph.features import TABLE, column
from gnn.guard.detector import Detector
from gnn.guard.features import names as pooled_names
from gnn.guard.features import pooled
from gnn.guard.from_env import answer_row
from gnn.guard.watch import Watch, begin, reason, seen
from gnn.mix.policy.answer import plan
from gnn.mix.policy.graph import heard_per_s
from gnn.mix.policy.played import Played, asked_now
from gnn.mix.policy.shipped import FACTOR_NAMES
from gnn.mix.state import HALF_LIVES_MIN, MINUTE_S, State
from prewarm.domain import FloatArray, Int32Array

STALE_MIN, HALVED = 10, 0.5
HEARD = 20.0
"""Calls heard (forgotten with half an hour) from which on a function's rate says something."""
OWN = (
    "age of telemetry",
    "starts off the usual",
    "prices changed beyond two",
    "change of delays",
    "room lost beyond half",
    "calls forecast to heard",
    "the same, either way",
    "calls heard to before",
    "use told to known",
)
_POOLED = pooled_names(FACTOR_NAMES)
_KEPT = [
    at
    for at, name in enumerate(_POOLED)
    if name != "mean factor delay" and ("cluster" in name or not name.startswith(("least", "most")))
]
"""Without the extremes of factors and room over functions, and without the mean of the delay's factor: on any day one
function of thousands sets them, and then the limit of all that is read.
"""
NAMES = (*(_POOLED[at] for at in _KEPT), *OWN)
USUAL_START_S, _LEAST_START_S = 1.35, 0.05
"""The median start of the worlds that the policy was trained in, and the shortest that is told apart."""
Shown = Mapping[str, NDArray[Any]]


@dataclass(slots=True)
class Telling:
    """What is told of the state: the truth until a shift of the telemetry at minute `at`. past: copies of states."""

    kind: Shift | None = None
    at: int = 0
    past: deque[State] = field(default_factory=lambda: deque(maxlen=STALE_MIN + 1))

    def state(self, truth: State) -> tuple[State, int]:
        """What is told of the clusters and the callers, and its age in minutes; forecasts are of this minute."""
        if self.kind is not Shift.STALE:
            return truth, 0
        self.past.append(replace(truth, seen=truth.seen.copy(), warm=truth.warm.copy()))
        if truth.minute < self.at or len(self.past) <= STALE_MIN:
            return truth, 0
        old = self.past[0]
        told = replace(truth, seen=old.seen, price=old.price, room_gb=old.room_gb, warm=old.warm)
        return told, truth.minute - old.minute

    def shown(self, observed: Shown, minute: int) -> Shown:
        """What missing or lying telemetry makes of use and room."""
        if minute < self.at or self.kind not in (Shift.MISSING, Shift.LYING):
            return observed
        nodes = observed["node/cluster"].copy()
        if self.kind is Shift.LYING:
            nodes[:, _USED] *= HALVED
        else:
            for at in (_USED, _FREE):
                nodes[:, at], nodes[:, at + 1] = 0.0, 1.0
        return {**observed, "node/cluster": nodes}


@dataclass(slots=True)
class Starts:
    """What starts took, s, known when they end. ended: (k,) in the last minute; under_way: (m,) not known so far."""

    ended: FloatArray = field(default_factory=lambda: np.zeros(0))
    under_way: FloatArray = field(default_factory=lambda: np.zeros(0))

    def hear(self, took_s: FloatArray, began_s: FloatArray) -> None:
        """Take in a minute's starts, (k,) each, began_s after its beginning; no start takes more than a minute."""
        over = began_s + took_s <= MINUTE_S
        self.ended, self.under_way = np.concatenate([self.under_way, took_s[over]]), took_s[~over]

    @property
    def off(self) -> float:
        """How far the mean logarithm of those that ended is off the usual, times the root of their number, so that a
        minute of five starts is no noisier than one of a hundred; 0 without one.
        """
        beyond = np.log(np.maximum(self.ended, _LEAST_START_S) / USUAL_START_S)
        return float(beyond.sum() / np.sqrt(max(len(beyond), 1)))


@dataclass(slots=True)
class GuardedMix:
    """The policy until the guard hands over. handed: the minute, None so far; rows, told: what was seen, if kept."""

    policy: Played
    telling: Telling = field(default_factory=Telling)
    detector: Detector | None = None
    keep: bool = False
    handed: int | None = None
    why: str = ""
    starts: Starts = field(default_factory=Starts)
    rows: list[FloatArray] = field(default_factory=list)
    told: list[FloatArray] = field(default_factory=list)
    _first: State | None = None
    _heard: FloatArray | None = None
    _watch: Watch | None = None

    def decide(self, truth: State) -> Int32Array:
        """The plan of the coming minute."""
        base = self.policy.base
        if self.handed is not None:
            return base.market.decide(truth)
        told, age = self.telling.state(truth)
        sight, asked, observed = asked_now(base, told)
        shown = self.telling.shown(observed, truth.minute)
        self._first = self._first or replace(told, price=told.price.copy(), room_gb=told.room_gb.copy())
        known = (age, self.starts.off, newly(told, self._heard))
        row = np.concatenate([pooled(shown)[_KEPT], own_row(told, self._first, shown, known)])
        self._heard = told.seen[0].sum(axis=1)
        if self._strange(row, truth.minute):
            return base.market.decide(truth)
        action = self.policy.act(shown)
        if self.keep:
            self.rows.append(row)
            self.told.append(answer_row(action))
        return plan(base, sight, asked, action)

    def _strange(self, row: FloatArray, minute: int) -> bool:
        """Take it in; whether the guard hands over now."""
        if self.detector is None:
            return False
        now = MINUTE_S * minute
        self._watch, reading = seen(self.detector, self._watch or begin(self.detector, now), row, now)
        if reading.alarms:
            self.handed, self.why = minute, reason(reading, NAMES)
        return reading.alarms


def own_row(told: State, first: State, shown: Shown, known: tuple[int, float, float]) -> FloatArray:
    """The columns `OWN`. known: age in minutes of what is told, how far starts are off, and what `newly` says."""
    age, starts_off, new = known
    told_delay, first_delay = told.site.delay_s, first.site.delay_s
    ratio = _rates(told)
    use = shown["node/cluster"][:, _USED] - (told.site.memory_gb @ told.warm) / told.room_gb
    return np.array(
        [
            np.log1p(float(age)),
            starts_off,
            max(0.0, float((told.price != first.price).sum()) - 2.0) / len(told.price),
            np.abs(told_delay - first_delay).mean() / first_delay.mean(),
            max(0.0, float(np.log(first.room_gb / told.room_gb).max()) - np.log(2.0)),
            ratio.mean(),
            np.abs(ratio).mean(),
            new,
            np.clip(use, -1.0, 1.0).mean(),
        ]
    )


def newly(told: State, before: FloatArray | None) -> float:
    """Logarithm of the calls that functions had in the last minute over their rate before, the median of those called
    once a minute or more; `before` (n,) the calls heard as of a minute ago, None at the beginning.
    """
    if before is None:
        return 0.0
    keep = 0.5 ** (1.0 / HALF_LIVES_MIN[0])
    new = told.seen[0].sum(axis=1) - keep * before
    rate = (1.0 - keep) * before / _filled(told.minute - 1)
    often = (rate >= 1.0) & (new > 0.5)
    return float(np.median(np.log(new[often] / rate[often]))) if often.any() else 0.0


def _rates(told: State) -> FloatArray:
    """Logarithm of calls forecast over calls heard lately, of the functions that are called often, (k,)."""
    often = np.flatnonzero(told.seen[0].sum(axis=1) >= HEARD)
    if not len(often):
        return np.zeros(1)
    heard = heard_per_s(told)[often].sum(axis=1) * MINUTE_S / _filled(told.minute)
    ratio: FloatArray = np.log((told.called[often] * told.calls[often] + 1e-3) / heard)
    return ratio


def _filled(minutes: int) -> float:
    """How much of the half hour's memory says something after so many minutes since it began; at least one counts."""
    return 1.0 - float(0.5 ** (max(minutes, 1) / HALF_LIVES_MIN[0]))


def _encoded_at(name: str) -> int:
    """The encoded column of a cluster's feature."""
    at = column("cluster", name)
    return at + sum(one.flagged for one in TABLE["cluster"][:at])


_USED, _FREE = _encoded_at("used_memory"), _encoded_at("free_memory")
