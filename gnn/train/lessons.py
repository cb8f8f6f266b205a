"""What the teacher of a world would do, collected before anything is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnn.observation import Observation
from gnn.replay import Transition
from gnn.train.plan import Plan
from gnn.train.questions import many, part_of, transitions
from gnn.train.questions import only as only_ask
from gnn.train.spread import Spread
from gnn.train.task import Action, PlacementEnv, Task

_NOISE = 13
"""Sets the noise of an episode apart from what the world draws from the same seed."""


@dataclass(slots=True)
class Lessons:
    """Questions with the teacher's answers, and what came of carrying them out with noise. asked: questions in all,
    those without an answer too. episodes: that were played.
    """

    seen: list[Observation] = field(default_factory=list)
    answers: list[Action] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    asked: int = 0
    episodes: int = 0

    def add(self, other: Lessons) -> None:
        """Those of another after these."""
        self.seen += other.seen
        self.answers += other.answers
        self.transitions += other.transitions
        self.asked += other.asked
        self.episodes += other.episodes


class Teaching:
    """The teacher's episode of a seed, from which all of it follows, so that it can be played anywhere."""

    def __init__(self, task: Task, plan: Plan, env: PlacementEnv | None = None) -> None:
        self.task, self.plan = task, plan
        self._env = env

    def __reduce__(self) -> tuple[Any, ...]:
        return Teaching, (self.task, self.plan)

    def __call__(self, seed: int) -> Lessons:
        """Play it."""
        self._env = env = self._env or self.task.make(seed)
        rng = np.random.default_rng([seed, _NOISE])
        lessons = Lessons(episodes=1)
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            answer = env.teach()
            _note(lessons, env, observation, answer)
            action = _carried_out(env, answer, self.plan.lessons_noise, rng)
            told = env.step(action)
            lessons.transitions += transitions(env.form, observation, action, told, answer)
            lessons.asked += many(observation)
            observation, over = told[0], told[2] or told[3]
        return lessons


def collect(teaching: Teaching, first_seed: int, spread: Spread, over: Callable[[], bool]) -> Lessons:
    """The episodes of seeds from `first_seed` on until enough questions were asked, or `over` says that time is. How
    many are played at a time changes nothing: those beyond what is enough are left out.
    """
    lessons = Lessons()
    enough = teaching.plan.lessons
    while lessons.asked < enough and not (lessons.asked and over()):
        begin = first_seed + lessons.episodes
        for one in spread.map(teaching, range(begin, begin + spread.width)):
            if lessons.asked < enough:
                lessons.add(one)
    return lessons


def _note(lessons: Lessons, env: PlacementEnv, observation: Observation, answer: Action | None) -> None:
    if answer is None:
        return
    for ask in range(many(observation)):
        mine = part_of(env.form, observation, answer, ask)
        if np.isfinite(mine).all():
            lessons.seen.append(only_ask(observation, ask))
            lessons.answers.append(mine)


def _carried_out(env: PlacementEnv, answer: Action | None, noise: float, rng: np.random.Generator) -> Action:
    """The answer, the rule where there is none, and noise."""
    shape = (env.action_space.rows, env.action_space.width)
    plain = np.zeros(shape, np.float32) if answer is None else np.nan_to_num(answer, nan=0.0)
    noisy: Action = np.clip(plain + noise * rng.standard_normal(shape), -1.0, 1.0).astype(np.float32)
    return noisy
