"""An episode played by whoever gives the weights, through the steps of the service's own pipeline.

The steps of `federation.placement.pipeline.decide` are taken one by one, because a question has to be seen before it is
answered and a teacher looks at many answers to one question; the record for people is not made.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from federation.placement.divide.allot import Allotted, allot
from federation.placement.factors.judged import judge
from federation.placement.filters.case import Case
from federation.placement.filters.examine import examine
from federation.placement.filters.sieve import Sieved, sieve
from federation.placement.pipeline import Ground, ground
from federation.placement.scorer import Declined, Question, Weighing
from federation.placement.terms import Terms
from federation.snapshot import Snapshot
from gnn.fleet.draw import Episode, Event
from gnn.fleet.outcome import Deed, Judged, outcome
from gnn.fleet.state import FleetState
from prewarm.domain import IntArray
from prewarm.settings import PlacementPolicy

POLICY = PlacementPolicy(moves_per_hour=1_000_000)
"""Limits of safety belong to a service with a past; here they would only hide what was decided."""


@dataclass(frozen=True, slots=True)
class Open:
    """A question that waits for its answer."""

    question: Question
    case: Case
    sieved: Sieved
    snapshot: Snapshot


class Play:
    """One episode. `judged`: what came of each event so far; `unasked`: of those that no cluster was open to."""

    def __init__(self, episode: Episode, terms: Terms | None = None) -> None:
        self.state = FleetState(episode)
        self.terms = terms or Terms(policy=POLICY)
        self.judged: list[Judged] = []
        self.unasked: list[Judged] = []
        self._events = deque(episode.events)
        self._ground: Ground | None = None

    @property
    def left(self) -> int:
        """Events after the one that was asked about last."""
        return len(self._events)

    def ask(self) -> Open | None:
        """The next question; None where the episode is over."""
        while self._events:
            found = self._look(self._events.popleft())
            if found.question.clusters:
                return found
            lost = self._carry_out(found, np.zeros(len(found.snapshot.clusters), np.int64))
            self.unasked.append(lost)
            self.judged.append(lost)
        return None

    def decide(self, asked: Open, weighing: Weighing) -> Judged:
        """Answer, carry the answer out, and say what it was worth."""
        done = self._carry_out(asked, divided(asked, weighing).counts)
        self.judged.append(done)
        return done

    def consider(self, asked: Open, weighing: Weighing) -> Judged:
        """What an answer would be worth, without carrying it out."""
        counts = divided(asked, weighing).counts
        before = self.state.counts(asked.question.workload.key)
        loads = self.state.loads_with(asked.question.workload, counts - before)
        return outcome(Deed(asked.question.workload, before, counts, loads), asked.snapshot)

    def _look(self, event: Event) -> Open:
        self.state.now += 1.0
        for key in event.gone:
            self.state.remove(key)
        snapshot = self.state.snapshot()
        self._ground = on = ground(snapshot, last=self._ground)
        case = examine(on.fleet, event.workload, book=on.book, tally=on.tally, terms=self.terms, now=self.state.now)
        sieved = sieve(case)
        asking = _Asking()
        judge(replace(case, terms=replace(self.terms, scorer=asking)), sieved)
        question = asking.question or Question(snapshot, event.workload, (), np.zeros((0, 9)), np.zeros(0), case.now)
        return Open(question, case, sieved, snapshot)

    def _carry_out(self, asked: Open, counts: IntArray) -> Judged:
        workload = asked.question.workload
        before = self.state.counts(workload.key)
        self.state.put(workload, counts)
        return outcome(Deed(workload, before, counts, self.state.loads()), asked.snapshot)


def divided(asked: Open, weighing: Weighing) -> Allotted:
    """The pipeline's division of a question with these weights."""
    terms = replace(asked.case.terms, scorer=Given(weighing))
    return allot(judge(replace(asked.case, terms=terms), asked.sieved))


@dataclass(slots=True)
class _Asking:
    """A scorer that only remembers the question."""

    question: Question | None = None

    def weigh(self, question: Question) -> Weighing | Declined:
        """Decline."""
        self.question = question
        return Declined("the question is only looked at")


@dataclass(frozen=True, slots=True)
class Given:
    """A scorer that answers with what it was given."""

    weighing: Weighing

    def weigh(self, question: Question) -> Weighing | Declined:
        """The answer."""
        del question
        return self.weighing
