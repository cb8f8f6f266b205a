"""What a world must offer so that a policy can be learned and judged in it.

Seeds say what an episode is for (`gnn.train.seeds`). Only `gnn.train` and the worlds import this module: it needs
gymnasium, which the service does not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gnn.forms import Form, Rule
from gnn.observation import Observation
from gnn.train.spaces import Actions, Observations

Action = NDArray[np.float32]
Act = Callable[[Observation], Action]
"""A policy: an observation to an action in -1..1, (k, F + 1) as weights, (p, 1) else."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """score: higher is better, paired against the rule on the same seeds, so 0 is the rule. parts: what the world
    measures, by name; `ours`, `rule` and `optimum` are the same measure of three who decide.
    """

    score: float
    parts: Mapping[str, float] = field(default_factory=dict)


class PlacementEnv(gymnasium.Env):  # type: ignore[misc]
    """One episode after another of questions where to place. An observation may ask about several functions at once.

    `step` tells in `info`: `violation` (float >= 0), what must not be; with k > 1 questions also `rewards` and
    `violations` (k,), one a question. `follows` (k,), if given, is the row among the next observation's questions that
    goes on with each, -1 where that question's story is over; without it rows follow rows.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    form: Form
    """How `step` reads an action (`gnn.forms.scores_of`)."""

    def __init__(self, form: Form, factors: int) -> None:
        self.form = form
        self.observation_space = Observations(factors)
        self.action_space = Actions(form, factors)

    def asks(self, observation: Observation) -> Observation:
        """The observation, and from now on an action has as many rows as it asks for."""
        self.action_space.ask(observation)
        return observation

    @abstractmethod
    def teach(self) -> Action | None:
        """What the teacher would do now, None without an opinion; a row of NaN is none about that question."""


class Task(Protocol):
    """A world. It may also have `data`, sha256 by file, where it reads traces, and `plan`, how it is best trained."""

    @property
    def name(self) -> str:
        """As `prewarm train placement --task` knows it."""
        ...

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the columns of `ask/values`."""
        ...

    @property
    def rule(self) -> Rule:
        """The best tuned fixed rule: what action zero is."""
        ...

    def make(self, seed: int) -> PlacementEnv:
        """An environment for training; everything follows from the seed."""
        ...

    def judge(self, act: Act, seeds: Sequence[int]) -> Verdict:
        """Play the worlds of these seeds with a policy, and with the rule."""
        ...
