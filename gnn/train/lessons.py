"""What the teacher of a world would do, collected before anything is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from gnn.observation import Observation
from gnn.replay import Transition
from gnn.train.plan import Plan
from gnn.train.questions import many, part_of, transitions
from gnn.train.questions import only as only_ask
from gnn.train.task import Action, PlacementEnv


@dataclass(slots=True)
class Lessons:
    """Questions with the teacher's answers, and what came of carrying them out with noise."""

    seen: list[Observation] = field(default_factory=list)
    answers: list[Action] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)


def collect(
    env: PlacementEnv, plan: Plan, rng: np.random.Generator, *, seeds: Iterator[int], over: Callable[[], bool]
) -> Lessons:
    """Play episodes of these seeds by the teacher until enough questions were asked, or `over` says that time is."""
    lessons = Lessons()
    asked = 0
    while asked < plan.lessons and not (asked and over()):
        observation, _ = env.reset(seed=next(seeds))
        ended = False
        while not ended:
            answer = env.teach()
            _note(lessons, env, observation, answer)
            action = _carried_out(env, answer, plan.lessons_noise, rng)
            told = env.step(action)
            lessons.transitions += transitions(env.form, observation, action, told, answer)
            asked += many(observation)
            observation, ended = told[0], told[2] or told[3]
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
