"""The service's own world as an environment: each step is one placement by the service's pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from federation.placement.scorer import FACTORS, Question, Weighing
from federation.placement.workload import Workload
from gnn.fleet.draw import draw
from gnn.fleet.outcome import Judged
from gnn.fleet.play import Open, Play
from gnn.fleet.question import question_observation
from gnn.fleet.teacher import lesson
from gnn.fleet.tuning import weighing
from gnn.forms import BOUND, Form, Rule, scores_of, temperature_of, weights_of
from gnn.graph.build import GraphBuilder
from gnn.observation import Observation
from gnn.train.task import Action, PlacementEnv

GAIN = 10.0
"""Rewards are so many times the difference, which is a few hundredths, to be of the size that networks like."""
_OF_MIX = [FACTORS.index("fragmentation"), FACTORS.index("future_fill")]


def answer(action: Action, rule: Rule) -> Weighing:
    """An action (1, F + 1) as weights and temperature."""
    raw = action.astype(np.float64)
    weights = weights_of(raw, np.array(rule.weights))[0]
    return Weighing(weights, float(temperature_of(raw, rule.temperature)[0]), "learned", "training")


def scored(form: Form, action: Action, rule: Rule, question: Question) -> Weighing:
    """An action (c, 1) that is a residual or a direct score, as the rule's weights and what is added to their sum. A
    direct score is its own here, without the bound that the service keeps.
    """
    weights = np.array(rule.weights) / sum(rule.weights)
    pairs = np.zeros(len(question.values), np.int64)
    scores = scores_of(form, action.astype(np.float64), pairs=pairs, values=question.values, rule=weights)
    return Weighing(weights, rule.temperature, "learned", "training", scores - question.values @ weights)


def as_scores(form: Form, lesson: Action, rule: Rule, question: Question) -> Action:
    """A lesson in weights (1, F + 1) as the residual or direct score (c, 1) that orders the clusters alike; differences
    from the rule that are beyond the bound are cut, about their middle.
    """
    scores = question.values @ weights_of(lesson.astype(np.float64), np.array(rule.weights))[0]
    told = 2.0 * scores - 1.0
    if form is Form.RESIDUAL:
        apart = scores - question.values @ (np.array(rule.weights) / sum(rule.weights))
        told = (apart - (apart.max() + apart.min()) / 2.0) / BOUND
    action: Action = np.clip(told, -1.0, 1.0)[:, None].astype(np.float32)
    return action


class FleetEnv(PlacementEnv):
    """Placements one after another. The reward of an answer is what its goals (`outcome`) are above those of the rule's
    answer to the same question: questions differ far more than answers do, and a critic would learn only that.
    Workloads that are refused between two questions count as violations of the first.
    """

    def __init__(self, rule: Rule, seed: int, kind: str | None = None, form: Form = Form.WEIGHTS) -> None:
        super().__init__(form, len(FACTORS))
        self.rule, self.kind = rule, kind
        self._usual = weighing(rule)
        self._seed = seed
        self._begin()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Observation, dict[str, Any]]:
        """The episode of the seed, the next one where none is given."""
        super().reset(seed=seed, options=options)
        self._seed = self._seed + 1 if seed is None else seed
        self._begin()
        asked = self._next()
        while asked is None:  # a fleet without any room at all
            self._seed += 1
            self._begin()
            asked = self._next()
        return asked, {}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Place the workload in question; the next one is asked about then."""
        assert self._asked is not None, "the episode is over; reset first"
        assert self._seen is not None
        before = len(self.play.unasked)
        usual = self.play.consider(self._asked, self._usual)
        done = self.play.decide(self._asked, self._weighing(action))
        seen = self._next()
        refused = float(sum(one.violation for one in self.play.unasked[before:]))
        over = seen is None or self.play.left == 0
        told = self._seen if seen is None else seen
        return told, GAIN * (done.goals - usual.goals), False, over, {"violation": done.violation + refused}

    def teach(self) -> Action:
        """What the teacher would answer now."""
        told = lesson(self.workload, self.rule)
        if self.form is Form.WEIGHTS:
            return told
        assert self._asked is not None
        return as_scores(self.form, told, self.rule, self._asked.question)

    @property
    def workload(self) -> Workload:
        """What is asked about now."""
        assert self._asked is not None, "the episode is over; reset first"
        return self._asked.question.workload

    @property
    def judged(self) -> list[Judged]:
        """What came of the episode so far."""
        return self.play.judged

    def _weighing(self, action: Action) -> Weighing:
        assert self._asked is not None
        if self.form is Form.WEIGHTS:
            return answer(action, self.rule)
        return scored(self.form, action, self.rule, self._asked.question)

    def _begin(self) -> None:
        self.play, self._builder = Play(draw(self._seed, self.kind)), GraphBuilder()
        self._rng = np.random.default_rng([self._seed, 12])
        self._asked: Open | None = None
        self._seen: Observation | None = None

    def _next(self) -> Observation | None:
        self._asked = self.play.ask()
        if self._asked is None:
            return None
        seen = question_observation(self._asked.question, self._builder)
        self._seen = self.asks(self._with_mix(seen))
        return self._seen

    def _with_mix(self, seen: dict[str, NDArray[Any]]) -> Observation:
        """Half of the time with some values of the factors that a forecast mix gives, and not the neutral ones.

        They are worth nothing in this world, and a policy must have seen them so as not to be misled by them.
        """
        if self._rng.random() < 0.5:
            return seen
        values = seen["ask/values"].copy()
        values[:, _OF_MIX] = self._rng.uniform(0.2, 0.8, (len(values), len(_OF_MIX)))
        return {**seen, "ask/values": values}
