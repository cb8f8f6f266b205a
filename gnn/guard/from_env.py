"""What the guard sees while a policy plays a world in which nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gnn.guard.fit import Stream
from gnn.observation import Observation
from prewarm.domain import FloatArray

Act = Callable[[Observation], NDArray[np.float32]]
Row = Callable[[Observation], FloatArray]
"""What the guard looks at of an observation."""


class World(Protocol):
    """An environment of placements (`gnn.train.task.PlacementEnv`)."""

    def reset(self, *, seed: int) -> tuple[Observation, dict[str, Any]]:
        """The first question of an episode."""
        ...

    def step(self, action: NDArray[np.float32], /) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """The next one."""
        ...


def stream(world: World, act: Act, row: Row, seed: int, *, step_s: float) -> Stream:
    """One episode, its questions so many seconds apart."""
    rows, told = [], []
    seen, _ = world.reset(seed=seed)
    over = False
    while not over:
        action = act(seen)
        rows.append(row(seen))
        told.append(answer_row(action))
        seen, _, ended, cut, _ = world.step(action)
        over = ended or cut
    return Stream(step_s * np.arange(len(rows), dtype=np.float64), np.array(rows), np.array(told))


def streams(
    world: World,
    act: Act,
    row: Row,
    runs: Sequence[tuple[int, float]],
    *,
    progress: Callable[[float, str], None],
) -> list[Stream]:
    """One run each of a seed, its questions so many seconds apart."""
    found = []
    for number, (seed, step_s) in enumerate(runs):
        progress(number / len(runs), f"run {number + 1} of {len(runs)}")
        found.append(stream(world, act, row, seed, step_s=step_s))
    return found


def answer_row(action: NDArray[np.float32]) -> NDArray[np.float64]:
    """An answer of any number of rows as one of a fixed width: what the heads learn to foretell."""
    return np.array([action.mean(), action.max(), action.min()], np.float64)
