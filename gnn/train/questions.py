"""One transition is one question: cutting an observation of several questions, and joining what came of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnn.forms import Form, width_of
from gnn.observation import Observation
from gnn.replay import Transition

_CUT = ("ask/function", "ask/pairs", "ask/values", "ask/room")


def many(observation: Observation) -> int:
    """Questions in an observation."""
    return len(observation["ask/function"])


def only(observation: Observation, ask: int) -> Observation:
    """The same graph with one of its questions; arrays of the graph are shared."""
    if many(observation) == 1:
        return observation
    pairs = observation["ask/pairs"]
    mine = pairs[0] == ask
    cut = {
        "ask/function": observation["ask/function"][[ask]],
        "ask/pairs": np.stack([np.zeros(int(mine.sum()), np.int64), pairs[1, mine]]),
        "ask/values": observation["ask/values"][mine],
        "ask/room": observation["ask/room"][mine],
    }
    return {**{key: array for key, array in observation.items() if key not in _CUT}, **cut}


def zero(form: Form, factors: int, observation: Observation) -> NDArray[np.float32]:
    """The action that is the rule, of the shape that answers the observation."""
    rows = observation["ask/function"] if form is Form.WEIGHTS else observation["ask/room"]
    return np.zeros((len(rows), width_of(form, factors)), np.float32)


def part_of(form: Form, observation: Observation, action: NDArray[np.float32], ask: int) -> NDArray[np.float32]:
    """The rows of an action that answer one question."""
    rows = action[[ask]] if form is Form.WEIGHTS else action[observation["ask/pairs"][0] == ask]
    return rows.astype(np.float32)


def transitions(
    form: Form,
    before: Observation,
    action: NDArray[np.float32],
    told: tuple[Observation, float, bool, bool, Mapping[str, Any]],
    taught: NDArray[np.float32] | None = None,
) -> Iterator[Transition]:
    """One for each question of a step; `told` is what the environment's `step` gave, `taught` the teacher's answer.

    For the learner a truncated episode goes on: only `terminated`, or a row of `follows` that is -1, ends it.
    """
    after, reward, terminated, _, info = told
    asked, coming = many(before), many(after)
    rewards = info.get("rewards", np.full(asked, reward / max(asked, 1)))
    violations = info.get("violations", np.full(asked, float(info.get("violation", 0.0))))
    follows = info.get("follows", np.arange(asked) % max(coming, 1))
    for ask in range(asked):
        following = int(follows[ask])
        ends = terminated or following < 0 or not coming
        mine = only(before, ask)
        yield Transition(
            mine,
            part_of(form, before, action, ask),
            float(rewards[ask]),
            float(violations[ask]),
            mine if ends else only(after, following),
            ends,
            None if taught is None else _opinion(part_of(form, before, taught, ask)),
        )


def _opinion(taught: NDArray[np.float32]) -> NDArray[np.float32] | None:
    return taught if np.isfinite(taught).all() else None
