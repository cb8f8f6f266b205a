"""What the trial keeps between windows: pairs that wait for their price, open windows, standings, and their changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from federation.placement.scorer import Question, Weighing
from federation.placement.workload import Workload
from federation.snapshot import Snapshot
from gnn.guard.pricing import Prices, cost, difference, shares
from gnn.guard.trial import STEPS, Interval, Standing, Terms, after_alarm, after_window, interval
from prewarm.domain import FloatArray

LAG_S = 120.0
"""A pair is priced by the fleet as it is this much later."""
_WAITING, _CHANGES = 5_000, 50


@dataclass(frozen=True, slots=True)
class Pair:
    """Where each side put one workload's instances, and what ran before, by cluster."""

    workload: Workload
    at: float
    rule: Mapping[str, int]
    learned: Mapping[str, int]
    before: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Change:
    """A share that went up or down."""

    at: float
    namespace: str
    before: float
    after: float
    why: str


@dataclass(slots=True)
class OpenWindow:
    """Differences by workload since it was opened."""

    since: float
    differences: dict[str, list[float]] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        """How many differences."""
        return sum(len(one) for one in self.differences.values())

    def means(self) -> list[float]:
        """One a workload: its own differences resemble each other and count as one."""
        return [float(np.mean(one)) for one in self.differences.values()]


@dataclass(slots=True)
class Book:
    """The trial of all namespaces. unkept: namespaces whose standing the database does not have yet."""

    terms: Terms = field(default_factory=Terms)
    prices: Prices = field(default_factory=Prices)
    standings: dict[str, Standing] = field(default_factory=dict)
    windows: dict[str, OpenWindow] = field(default_factory=dict)
    waiting: deque[Pair] = field(default_factory=lambda: deque(maxlen=_WAITING))
    changes: deque[Change] = field(default_factory=lambda: deque(maxlen=_CHANGES))
    unkept: set[str] = field(default_factory=set)
    _compared: dict[str, float] = field(default_factory=dict)

    def standing(self, namespace: str) -> Standing:
        """Where a namespace is."""
        return self.standings.get(namespace, Standing())

    def due(self, key: str, now: float) -> bool:
        """Whether a workload is to be compared again: once a window."""
        return now - self._compared.get(key, float("-inf")) >= self.terms.window_s

    def compare(self, question: Question, rule: Weighing, learned: Weighing) -> None:
        """Keep where both would put it, until the price is known."""
        workload, key = question.workload, question.workload.key
        sides = [_put(question, one) for one in (rule, learned)]
        before = {one.name: one.running[key].existing for one in question.snapshot.clusters if key in one.running}
        self.waiting.append(Pair(workload, question.now, sides[0], sides[1], before))
        self._compared[key] = question.now

    def settle(self, seen: Snapshot, now: float) -> None:
        """Price what has waited long enough."""
        while self.waiting and now - self.waiting[0].at >= LAG_S:
            one = self.waiting.popleft()
            rule, learned = (
                cost(side, one.workload, before=one.before, seen=seen, by=self.prices)
                for side in (one.rule, one.learned)
            )
            space = one.workload.key.partition("/")[0]
            window = self.windows.setdefault(space, OpenWindow(one.at))
            window.differences.setdefault(one.workload.key, []).append(difference(rule, learned))

    def close(self, now: float, allowed: Mapping[str, float]) -> None:
        """Close windows that are long and full enough. allowed: most share by namespace."""
        for space, window in list(self.windows.items()):
            if now - window.since >= self.terms.window_s and window.pairs >= self.terms.pairs:
                found = interval(window.means(), self.terms.confidence)
                most = allowed.get(space, 0.0)
                self._turn(space, after_window(self.standing(space), found, now, self.terms, most=most), now)
                del self.windows[space]
        self._compared = {key: at for key, at in self._compared.items() if now - at < self.terms.window_s}

    def alarm(self, why: str, now: float) -> None:
        """The world is another one: everything goes back to the rule, and what was begun is forgotten."""
        for space, standing in list(self.standings.items()):
            self._turn(space, after_alarm(standing, why, now), now)
        self.windows.clear()
        self.waiting.clear()

    def _turn(self, space: str, standing: Standing, now: float) -> None:
        before = self.standing(space)
        if before.step != standing.step:
            self.changes.append(Change(now, space, before.share, standing.share, standing.why))
        if before != standing:
            self.standings[space] = standing
            self.unkept.add(space)


def standing_json(standing: Standing) -> dict[str, Any]:
    """As it is kept."""
    return asdict(standing) | {"share": standing.share}


def read_standing(body: Mapping[str, Any]) -> Standing:
    """What was kept."""
    last = None if body["last"] is None else Interval(**body["last"])
    step = min(int(body["step"]), len(STEPS) - 1)
    return Standing(step, body["streak"], body["since"], body["why"], body["windows"], last)


def _put(question: Question, weighing: Weighing) -> dict[str, int]:
    worth: FloatArray = question.values @ (weighing.weights / weighing.weights.sum())
    if weighing.residual is not None:
        worth = worth + weighing.residual
    most = question.workload.spread.max_per_cluster
    room = question.room if most is None else np.minimum(question.room, most)
    counts = shares(worth, room, question.workload.replicas, temperature=weighing.temperature)
    return {name: int(count) for name, count in zip(question.clusters, counts, strict=True) if count}
