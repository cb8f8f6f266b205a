"""A policy as the simulator asks it, pod by pod: only where there is a choice of clusters; else the rule decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnn.forms import Form
from gnn.observation import Observation
from gnn.published.kernel.layout import State
from gnn.published.measure.run import Answer
from gnn.published.policy.answer import answer
from gnn.published.policy.columns import Columns
from gnn.published.policy.graph import observation
from gnn.published.policy.look import choices, look
from gnn.published.policy.teacher import lesson

Act = Callable[[Observation], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Played:
    """`Asked` for the runs: a policy's actions, in one form, over the columns of its rule."""

    act: Act
    form: Form
    columns: Columns

    def __call__(self, state: State, kind: int) -> Answer:
        """The answer to the question that the state has stopped before."""
        rule = self.columns.table[kind]
        if choices(state) < 2:
            return Answer(rule)
        state["weights"][0, kind] = rule  # what an answer as weights left would show in the look
        room, factors, ahead = look(state)
        told = observation(state, room, self.columns.values(kind, factors, ahead))
        return answer(self.columns, self.form, kind, self.act(told))


@dataclass(frozen=True, slots=True)
class Taught:
    """The teacher in its place."""

    columns: Columns

    def __call__(self, state: State, kind: int) -> Answer:
        """The answer that the teacher would give."""
        rule = self.columns.table[kind]
        if choices(state) < 2:
            return Answer(rule)
        _, _, ahead = look(state)
        told = lesson(self.columns, Form.RESIDUAL, kind, (state, ahead))
        assert told is not None
        return answer(self.columns, Form.RESIDUAL, kind, told)
