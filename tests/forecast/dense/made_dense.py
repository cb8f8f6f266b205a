"""Small busy series and a small model, made once for all tests of the dense forecaster."""

from __future__ import annotations

from functools import cache

import numpy as np

from prewarm.domain import FloatArray
from prewarm.forecast.dense.boost import Trees
from prewarm.forecast.dense.train import Plan, Trained, train_dense

DAY = 1440
HORIZONS = (1, 5)
SMALL = Trees(rounds=15, leaves=7, rate=0.2, fewest_rows=50)


def timers(days: int, seed: int = 0, level: float = 20.0) -> FloatArray:
    """Counts (days * 1440,) of a busy function: Poisson noise over timers of 5, 11 and 60 minutes and a day's wave."""
    rng = np.random.default_rng(seed)
    minute = np.arange(days * DAY)
    rate = level * (1.0 + 0.4 * np.sin(2 * np.pi * minute / DAY))
    rate = rate + level * (minute % 5 == 0) + 3 * level * (minute % 60 == 7) + 2 * level * (minute % 11 == 3)
    counts: FloatArray = rng.poisson(rate).astype(np.float64)
    return counts


@cache
def small_trained() -> Trained:
    """A model of two series, trained on two days in about a second."""
    values = np.stack([timers(11, seed=1), timers(11, seed=2, level=60.0)])
    plan = Plan(11, 9, HORIZONS, SMALL, SMALL)
    return train_dense(values, plan, about={"command": "test", "seed": 0})
