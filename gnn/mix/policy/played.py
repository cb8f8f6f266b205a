"""A policy's actions as plans: every minute one question about all functions that matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnn.mix.policy.answer import Base, Look, look, plan
from gnn.mix.policy.graph import mattering, observation
from gnn.mix.state import State
from prewarm.domain import Int32Array, IntArray

Act = Callable[[Mapping[str, NDArray[Any]]], NDArray[np.float32]]
LEARNED = "learned policy"


@dataclass(frozen=True, slots=True)
class Played:
    """As any rule of the table."""

    act: Act
    base: Base
    name: str = LEARNED

    def decide(self, state: State) -> Int32Array:
        """The plan of the coming minute."""
        seen, asked, shown = asked_now(self.base, state)
        return plan(self.base, seen, asked, self.act(shown)) if len(asked) else self.base.market.decide(state)


def asked_now(base: Base, state: State) -> tuple[Look, IntArray, dict[str, NDArray[Any]]]:
    """The look at the minute, the functions asked about, and what is shown."""
    seen, asked = look(base, state), mattering(state)
    return seen, asked, observation(seen, asked, asked)
