"""The world to learn in: one question a service, a few requests of a run somewhere between its start and its end.

Reward of a step is what it adds to the cheapest completion (delay and price of holes, by the exact solver), below zero
and in units of `SCALE_MS`; over a request these sum to what the policy lost against the solver. A service without room
is a violation, and the request is given back. What was there before the first request was placed by the solver.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnn.forms import Form
from gnn.observation import Observation
from gnn.sizes.admission import known_values, worth_it
from gnn.sizes.learning.answer import answered
from gnn.sizes.learning.observe import Observer
from gnn.sizes.learning.teacher import best_of, misjudged, placed_row, weights_for
from gnn.sizes.play import offers, question, take
from gnn.sizes.rules.factors import FACTORS
from gnn.sizes.rules.weighted import Settings
from gnn.sizes.world import REQUESTS, draw_world
from gnn.train.task import Action, PlacementEnv
from prewarm.domain import IntArray

SCALE_MS = 50.0
LEAST_SIZE, MOST_SIZE = 2, 32
REQUESTS_A_CLUSTER = (0.8, 4.0)
"""The worlds of the benchmark have 0.8 with 128 clusters and 3 with 32."""
FEWEST_REQUESTS = 12
EPISODE = 8
SILENT = 20
_WORST, _SAME_MS = -4.0, 1e-6


class SizesEnv(PlacementEnv):
    """Fleets of 2 to 32 clusters, with room for 15 to 100 requests."""

    def __init__(self, form: Form, settings: Settings) -> None:
        super().__init__(form, len(FACTORS))
        self.settings = settings
        self.agreed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new world, and the first question somewhere in it."""
        super().reset(seed=seed, options=options)
        rng = self.np_random
        size = int(np.exp(rng.uniform(np.log(LEAST_SIZE), np.log(MOST_SIZE + 1))))
        many = int(np.clip(size * np.exp(rng.uniform(*np.log(REQUESTS_A_CLUSTER))), FEWEST_REQUESTS, REQUESTS))
        self.world = draw_world(size, int(rng.integers(2**31)), many)
        self.observer = Observer(self.world, self.settings.holes)
        self.free = self.world.room.copy()
        self.coming = offers(self.world, self.free)
        self._skip(int(many * np.sqrt(rng.random())))  # later is harder, so more often
        if not self._next_request():
            return self.reset(seed=int(rng.integers(2**31)))
        self.left = EPISODE
        return self._observed(), {}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Place the service in question."""
        placed = self._placed(action)
        best = best_of(self.offer, placed, self.settings.holes)
        lost = _WORST if best is None else max(_WORST, (self.least_ms - best.latency_ms) / SCALE_MS)
        over, after = self._moved(placed, None if best is None else best.latency_ms)
        return after, lost, over, False, {"violation": float(best is None), "follows": np.array([self.goes_on])}

    def teach(self) -> Action | None:
        """The solver's opinion. As weights it is silent where the rule does as well, but for every `SILENT`-th time:
        the few corrections would be lost among zeros.
        """
        rule = self.settings.rule
        if self.form is not Form.WEIGHTS:
            return misjudged(self.form, rule, self.seen, self.question, self.settings.holes)
        best = best_of(self.offer, self.question.placed, self.settings.holes)
        zero = np.zeros((1, self.action_space.width), np.float32)
        if best is None:
            return None
        if self._as_good(zero, best.latency_ms):
            self.agreed += 1
            return zero if self.agreed % SILENT == 0 else None
        return weights_for(rule, self.seen, placed_row(self.question, best))

    def _placed(self, action: Action) -> IntArray:
        placed = self.question.placed.copy()
        row = answered(self.form, self.settings.rule, self.seen, action)
        placed[self.question.service] = self.question.candidates[row]
        return placed

    def _as_good(self, action: Action, least_ms: float) -> bool:
        """Whether the best completion after this action costs no more."""
        return best_of(self.offer, self._placed(action), self.settings.holes, least_ms + _SAME_MS) is not None

    def _moved(self, placed: IntArray, least_ms: float | None) -> tuple[bool, Observation]:
        """Go on to the next service, or to the next request where the last one is placed or finds no room."""
        done = least_ms is None or bool((placed >= 0).all())
        self.goes_on = -1 if done else 0
        if not done and least_ms is not None:
            self.least_ms = least_ms
            self._ask(placed)
            return False, self._observed()
        if least_ms is not None:
            take(self.free, self.offer.request, placed)
        self.left -= 1
        before = self.seen
        over = self.left == 0 or not self._next_request()
        return over, before if over else self._observed()

    def _skip(self, many: int) -> None:
        for _ in range(many):
            offer = next(self.coming)
            best = best_of(offer, np.full(len(offer.request.units), -1, np.int64), self.settings.holes)
            if best is not None and worth_it(offer, known_values(), self.settings.spared):
                take(self.free, offer.request, best.placed)

    def _next_request(self) -> bool:
        """The next request that has a placement; False where there is none."""
        for offer in self.coming:
            nothing = np.full(len(offer.request.units), -1, np.int64)
            best = best_of(offer, nothing, self.settings.holes)
            if best is not None and worth_it(offer, known_values(), self.settings.spared):
                self.offer, self.least_ms = offer, best.latency_ms
                self._ask(nothing)
                return True
        return False

    def _ask(self, placed: IntArray) -> None:
        self.question = question(self.offer, placed)

    def _observed(self) -> Observation:
        self.seen: Observation = self.asks(self.observer.observe(self.question))
        return self.seen
