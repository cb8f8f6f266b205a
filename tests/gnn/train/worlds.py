"""A world of known best action: only the graph tells what a context asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnn.ddpg import Settings
from gnn.forms import Form, Rule
from gnn.observation import Observation
from gnn.reward import Price
from gnn.shape import EncoderShape
from gnn.train.plan import Plan
from gnn.train.questions import zero
from gnn.train.task import Act, Action, PlacementEnv, Verdict
from tests.gnn.toys import graph_context

QUESTIONS = 6


def best(level: float) -> Action:
    """What a context asks for: a weight and a temperature."""
    return np.array([[1.6 * level - 0.8, 0.8 - 1.6 * level]], np.float32)


class ContextEnv(PlacementEnv):
    """Six contexts an episode; the reward is less the farther an action is from the best."""

    def __init__(self, seed: int) -> None:
        super().__init__(Form.WEIGHTS, 1)
        self._start(seed)

    def _start(self, seed: int) -> None:
        self.rng, self.left = np.random.default_rng(seed), QUESTIONS

    def _next(self) -> Observation:
        self.level = float(self.rng.random())
        return self.asks(graph_context(self.level, self.rng))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Observation, dict[str, Any]]:
        """A new episode."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._start(seed)
        self.left = QUESTIONS
        return self._next(), {}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One answer."""
        error = float(((action - best(self.level)) ** 2).sum())
        self.left -= 1
        return self._next(), -error, False, self.left == 0, {"violation": float(action[0, 0] > 0.9)}

    def teach(self) -> Action | None:
        """The best action; no opinion about low levels."""
        return best(self.level) if self.level > 0.2 else None


class ContextTask:
    """Contexts to be told apart."""

    name = "contexts"
    factors = ("one",)
    rule = Rule((1.0,))

    def __init__(self) -> None:
        self.judged: list[int] = []

    def make(self, seed: int) -> ContextEnv:
        """An environment."""
        return ContextEnv(seed)

    def judge(self, act: Act, seeds: Sequence[int]) -> Verdict:
        """How much nearer to the best than the rule, which is zero."""
        self.judged += list(seeds)
        gains = []
        for seed in seeds:
            env = ContextEnv(seed)
            observation, _ = env.reset(seed=seed)
            for _ in range(QUESTIONS):
                rule, ours = (
                    float(((one - best(env.level)) ** 2).sum())
                    for one in (zero(Form.WEIGHTS, 1, observation), act(observation))
                )
                gains.append(rule - ours)
                observation, *_ = env.step(zero(Form.WEIGHTS, 1, observation))
        return Verdict(float(np.mean(gains)), {"gain": float(np.mean(gains))})


LEARNER = Settings(
    discount=0.0, batch=16, actor_rate=2e-3, critic_rate=5e-3, critic_first=20, price=Price(limit=0.1, step=0.1)
)


def plan(**changes: Any) -> Plan:
    """A small one, whose end is a number of questions."""
    told: dict[str, Any] = {
        "learner": LEARNER,
        "encoder": EncoderShape(hidden=16, heads=2, layers=1),
        "seconds": None,
        "questions": 36,
        "lessons": 30,
        "imitations": 20,
        "begin": 16,
        "judge_every": 8,
        "validation": (500, 501),
    }
    return Plan(**{**told, **changes})
