"""The service's own world as an environment: each step is one placement by the service's pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from federation.placement.scorer import FACTORS, Weighing
from federation.placement.workload import Workload
from gnn.fleet.draw import draw
from gnn.fleet.outcome import Judged
from gnn.fleet.play import Open, Play
from gnn.fleet.question import question_observation
from gnn.fleet.teacher import lesson
from gnn.fleet.tuning import weighing
from gnn.forms import Form, Rule, temperature_of, weights_of
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


class FleetEnv(PlacementEnv):
    """Placements one after another. The reward of an answer is what its goals (`outcome`) are above those of the rule's
    answer to the same question: questions differ far more than answers do, and a critic would learn only that.
    Workloads that are refused between two questions count as violations of the first.
    """

    def __init__(self, rule: Rule, seed: int, kind: str | None = None) -> None:
        super().__init__(Form.WEIGHTS, len(FACTORS))
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
        done = self.play.decide(self._asked, answer(action, self.rule))
        seen = self._next()
        refused = float(sum(one.violation for one in self.play.unasked[before:]))
        over = seen is None or self.play.left == 0
        told = self._seen if seen is None else seen
        return told, GAIN * (done.goals - usual.goals), False, over, {"violation": done.violation + refused}

    def teach(self) -> Action | None:
        """What the teacher would answer now."""
        return lesson(self.workload, self.rule)

    @property
    def workload(self) -> Workload:
        """What is asked about now."""
        assert self._asked is not None, "the episode is over; reset first"
        return self._asked.question.workload

    @property
    def judged(self) -> list[Judged]:
        """What came of the episode so far."""
        return self.play.judged

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
