"""The serverless mix as an environment: a stretch of a day, and each minute a question about the same few functions.

All others follow the rule. Beside it runs the same stretch in which the rule decides about those few too, with the same
calls and starts: the reward of a question is what the function cost less than there, in J, so what no plan could change
is not in it. That takes the luck of the draw away, which is a hundred times what weights are worth. A missing instance
is the violation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnn.forms import Form
from gnn.mix.minute import MISSING
from gnn.mix.policy.answer import Base, Look, look, plan
from gnn.mix.policy.graph import mattering, near, observation
from gnn.mix.policy.teacher import lesson
from gnn.mix.policy.worlds import Played, drawn_start, episode_world, settled, world_of
from gnn.mix.replay import PRICES
from gnn.mix.rules.factors import FACTORS, delay_price
from gnn.mix.state import State
from gnn.observation import Observation
from gnn.train.task import Action, PlacementEnv
from prewarm.domain import FloatArray, IntArray

ASKED = 24
LASTS_MIN = 60
UNIT_J, MOST = 0.1, 50.0
"""J of a reward of 1, and what a reward is held within."""
FAR_S = 0.03
"""A usual delay."""
_Step = tuple[Observation, float, bool, bool, dict[str, Any]]


class MixEnv(PlacementEnv):
    """Stretches of the days of training worlds, or of a day that is given with `options={"played": ...}`."""

    def __init__(self, base: Base) -> None:
        super().__init__(Form.WEIGHTS, len(FACTORS))
        self.base = base

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """The first minute of a stretch; the seed says everything."""
        super().reset(seed=seed)
        rng = self.np_random
        number = int(rng.integers(2**20)) if seed is None else seed
        played: Played = (options or {}).get("played") or world_of(episode_world(number))
        lasts = min(LASTS_MIN, played[0].minutes // 2)
        start = drawn_start(played[0], lasts, rng)
        self.until = start + lasts
        self.day, self.beside = settled(played, start, self.base), settled(played, start, self.base)
        self.asked: IntArray = chosen(self.day.state, rng)
        return self._observed(), {}

    def step(self, action: Action) -> _Step:
        """Play the minute on both sides."""
        ours = self.day.play(plan(self.base, self.seen, self.asked, np.asarray(action, np.float32)))
        rule = self.beside.play(self.base.market.decide(self.beside.state))
        rewards = np.clip((self._cost(rule) - self._cost(ours)) / UNIT_J, -MOST, MOST)
        missing = ours[self.asked, MISSING]
        over = self.day.minute >= self.until
        info = {"violation": float(missing.mean()), "rewards": rewards, "violations": missing}
        before = self.shown
        return before if over else self._observed(), float(rewards.sum()), False, over, info

    def teach(self) -> Action | None:
        """The teacher's rows for the functions in question."""
        told = lesson(self.seen.state, self.seen.mix, self.base.rule)
        return told[self.asked].astype(np.float32)

    def _cost(self, ledger: FloatArray) -> FloatArray:
        """J of the functions in question in a minute, (k,)."""
        priced: FloatArray = ledger[self.asked] @ PRICES
        return priced

    def _observed(self) -> Observation:
        self.seen: Look = look(self.base, self.day.state)
        rows = near(self.day.state, self.asked)
        self.shown: Observation = self.asks(observation(self.seen, rows, self.asked))
        return self.shown


def chosen(state: State, rng: np.random.Generator) -> IntArray:
    """Functions to ask about, (k,), rising: more often those that holding and delay cost more, with whom more hangs on
    the answer.
    """
    among = mattering(state)
    cost = np.sqrt(state.site.hold[among] + FAR_S * delay_price(state)[among])
    return np.sort(rng.choice(among, min(ASKED, len(among)), replace=False, p=cost / cost.sum()))
