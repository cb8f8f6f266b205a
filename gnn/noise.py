"""Exploration: what is added to an action while it is being learned.

Gaussian, or Ornstein-Uhlenbeck where neighbouring decisions should err alike (DDPG, section 7). Its size falls in a
straight line with the number of draws. All randomness is the generator's that is handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from prewarm.domain import FloatArray


class Law(StrEnum):
    """Independent draws, or a walk that returns to zero."""

    GAUSSIAN = "gaussian"
    ORNSTEIN_UHLENBECK = "ornstein-uhlenbeck"


@dataclass(frozen=True, slots=True)
class NoiseSettings:
    """sigma: size at first, in units of the action's range -1..1. last_sigma: size after `steps` draws and ever after.
    pull: how fast the walk returns, a draw.
    """

    law: Law = Law.GAUSSIAN
    sigma: float = 0.3
    last_sigma: float = 0.05
    steps: int = 10_000
    pull: float = 0.15


class Noise:
    """Draws of one law; a walk starts anew where the shape of the action changes."""

    def __init__(self, settings: NoiseSettings) -> None:
        self.settings = settings
        self.drawn = 0
        self.walk = np.zeros((0, 0))

    @property
    def sigma(self) -> float:
        """The size now."""
        gone = min(1.0, self.drawn / max(self.settings.steps, 1))
        return self.settings.sigma + gone * (self.settings.last_sigma - self.settings.sigma)

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
        """What to add to an action of this shape."""
        fresh = self.sigma * rng.standard_normal(shape)
        self.drawn += 1
        if self.settings.law is Law.GAUSSIAN:
            return fresh
        last = self.walk if self.walk.shape == shape else np.zeros(shape)
        self.walk = last - self.settings.pull * last + fresh
        return self.walk

    def state(self) -> dict[str, Any]:
        """Everything but the generator."""
        return {"drawn": self.drawn, "walk": self.walk.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` gave."""
        self.drawn, self.walk = int(state["drawn"]), np.array(state["walk"], np.float64)
