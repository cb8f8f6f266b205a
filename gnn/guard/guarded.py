"""A learned scorer that has to earn its say, and loses it at once.

For each decision: may it decide here at all; does it see what it was made for; is it in time; and what would either
side have done. Whatever says no, the rule decides in the same decision, and the record says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from federation.desk.learned import Allowed
from federation.placement.factors.weighing import rule_weights
from federation.placement.scorer import Declined, Question, Weighing
from federation.snapshot import Snapshot
from gnn.forms import Form
from gnn.guard.asked import row, row_names
from gnn.guard.book import Book
from gnn.guard.detector import Detector
from gnn.guard.trial import Standing
from gnn.guard.watch import Reading, Watch, begin, in_words, reason, seen
from gnn.observation import Observation
from prewarm.loop.tick import place_of
from prewarm.settings import PlacementPolicy

CALM_S = 600.0
"""An alarm is over when nothing unusual was seen for this long."""
CALM_LEVEL = 0.8
LOOKED_EVERY_S = 1.0
"""Where it decides nothing and has nothing to compare, it still looks at the world this often."""
MOST_GAP_S = 10.0
"""A pause counts as no more than this in the running means, so that no single question is the whole of one."""
NO_DETECTOR = "no detector ships with these weights, so it is only compared"


class Looking(Protocol):
    """A scorer in two steps, so that the guard sees what it sees."""

    name: str
    version: str
    form: Form

    def look(self, question: Question) -> Observation | Declined:
        """The question as the network sees it."""
        ...

    def judge(self, seen: Observation) -> Weighing | Declined:
        """What it makes of it."""
        ...

    def warm(self, seen: Snapshot) -> None:
        """Take in a fleet between questions."""
        ...

    def took_ms(self) -> dict[str, float]:
        """How long its last answers took."""
        ...

    @property
    def deadline_ms(self) -> float:
        """What it keeps within."""
        ...


@dataclass(frozen=True, slots=True)
class Alarm:
    """Since when and why the rule decides everything; at: when something unusual was seen last."""

    since: float
    why: str
    at: float


@dataclass(slots=True)
class Tally:
    """Decisions by what became of the learned answer."""

    used: int = 0
    shadowed: int = 0
    declined: Counter[str] = field(default_factory=Counter)


Told = Callable[[str, str], None]
"""Is told of each decision: what became of the answer, and the kind of reason."""


class Guarded:
    """The scorer that the desk is given. policy: gives the rule's weights of the moment."""

    def __init__(
        self,
        scorer: Looking,
        detector: Detector | None,
        policy: Callable[[], PlacementPolicy],
        *,
        book: Book | None = None,
        allowed: Allowed | None = None,
    ) -> None:
        self.scorer = scorer
        self.detector = detector
        self.book = book or Book()
        self.allowed = allowed or Allowed()
        self.alarm: Alarm | None = None
        self.tally = Tally()
        self.reading: Reading | None = None
        self.watchers: list[Told] = []
        self._policy = policy
        self._watch: Watch | None = None
        self._looked: float | None = None
        self._names = row_names()

    def weigh(self, question: Question) -> Weighing | Declined:
        """The learned answer where it may decide, else why the rule does."""
        if self.allowed.mode == "off":
            return self._refuse("off", "learned scorer switched off")
        decides = self._decides(question.workload.key)
        due = self.book.due(question.workload.key, question.now)
        if not decides and not due and not self._curious(question.now):
            return self._shadow(question, "compared in this window already")
        sight = self.scorer.look(question)
        if isinstance(sight, Declined):
            return self._refuse(_kind(sight.why), sight.why)
        if (strange := self.look_out(row(sight), question.now)) is not None:
            return self._refuse("out of distribution", strange)
        answer = self.scorer.judge(sight)
        if isinstance(answer, Declined):
            return self._refuse(_kind(answer.why), answer.why)
        if due and self.alarm is None:
            self.book.compare(question, self._rule(), answer)
        if not decides:
            return self._shadow(question, "compared only")
        self.tally.used += 1
        self._tell("used", "")
        return answer

    def look_out(self, looked: np.ndarray[tuple[int], np.dtype[np.float64]], now: float) -> str | None:
        """Take in what the world looks like; why the rule must decide now, None where it need not."""
        if self.detector is None:
            return None
        watch = self._watch or begin(self.detector, 0.0)
        gap_s = now - (now if self._looked is None else self._looked)
        self._looked = now
        self._watch, self.reading = seen(self.detector, watch, looked, watch.at + min(max(gap_s, 0.0), MOST_GAP_S))
        if self.reading.alarms:
            why = reason(self.reading, self._names)
            first = self.alarm is None
            self.alarm = Alarm(now if self.alarm is None else self.alarm.since, why, now)
            if first:
                self.book.alarm(why, now)
            return why
        if self.alarm is None:
            return None
        if self.reading.level > CALM_LEVEL:
            self.alarm = Alarm(self.alarm.since, self.alarm.why, now)
        elif now - self.alarm.at >= CALM_S:
            self.alarm = None
            return None
        return f"out of distribution until all is calm for {CALM_S:.0f} s: {self.alarm.why}"

    def outstanding(self) -> str | None:
        """What stands out most of what was seen last, None before anything was."""
        return None if self.reading is None else in_words(self.reading, self._names)

    def share_of(self, namespace: str) -> float:
        """Of a namespace's workloads, those that the learned scorer decides now."""
        if self.detector is None or self.alarm is not None:
            return 0.0
        return min(self.book.standing(namespace).share, self.allowed.of(namespace))

    def reach(self) -> Mapping[str, float]:
        """Most share by namespace, for every one that is compared; 0 without a detector."""
        spaces = {*self.book.windows, *self.book.standings}
        return {space: self.allowed.of(space) if self.detector is not None else 0.0 for space in spaces}

    def standings(self) -> list[tuple[str, Standing]]:
        """Every namespace that was compared, by name."""
        known = {*self.book.standings, *self.book.windows}
        return [(space, self.book.standing(space)) for space in sorted(known)]

    def _decides(self, key: str) -> bool:
        return place_of(key) < self.share_of(key.partition("/")[0])

    def _curious(self, now: float) -> bool:
        return self.detector is not None and (self._looked is None or now - self._looked >= LOOKED_EVERY_S)

    def _rule(self) -> Weighing:
        policy = self._policy()
        return Weighing(rule_weights(policy.weights), policy.spread_temperature, "rule", "")

    def _shadow(self, question: Question, what: str) -> Declined:
        self.tally.shadowed += 1
        self._tell("shadowed", "")
        space = question.workload.key.partition("/")[0]
        if self.detector is None:
            return Declined(f"shadow: {NO_DETECTOR}")
        return Declined(f"shadow: {what}; the learned share of {space} is {self.share_of(space):g}")

    def _refuse(self, kind: str, why: str) -> Declined:
        self.tally.declined[kind] += 1
        self._tell("declined", kind)
        return Declined(why)

    def _tell(self, became: str, kind: str) -> None:
        for watcher in self.watchers:
            watcher(became, kind)


def _kind(why: str) -> str:
    """A reason as a metric's label: what stands before its details."""
    for kind in ("over the deadline", "the question", "the network"):
        if why.startswith(kind):
            return {"the question": "unreadable", "the network": "no answer"}.get(kind, kind)
    return "other"
