"""How likely it is that a call comes before an instance, started with the minute, is ready."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from gnn.mix.world.hits import START_MOST_S, start_law
from prewarm.domain import FloatArray

_POINTS = 128
_GRID = np.r_[0.0, np.geomspace(0.05, 1e6, 200)]


def _table() -> FloatArray:
    """E[1 - (1 - S/60)^x] on the grid, over equally likely start-up times."""
    mean, deviation = start_law()
    normal = NormalDist(mean, deviation)
    starts = np.exp([normal.inv_cdf((k + 0.5) / _POINTS) for k in range(_POINTS)])
    share = np.minimum(starts, START_MOST_S) / 60.0
    return np.asarray(1.0 - ((1.0 - share)[None, :] ** _GRID[:, None]).mean(axis=1))


_WAITED = _table()


def waited_share(calls_each: FloatArray) -> FloatArray:
    """Chance that a start is waited for, given the calls that its instance would serve in the minute; any shape."""
    chance: FloatArray = np.interp(calls_each, _GRID, _WAITED)
    return chance
