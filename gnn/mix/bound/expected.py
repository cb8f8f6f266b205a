"""What the best sets of pools would be expected to cost with the forecasts that everybody gets and the true mix.

The dynamic program's own value, without limits of room: an expectation over the calls that the forecasts speak of, and
so without the luck of how they then fall. It is exact for functions that never need a second instance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnn.mix.bound.dual import priced
from gnn.mix.bound.knowledge import foretold
from gnn.mix.world.draw import World
from prewarm.domain import Float32Array, FloatArray


def expected_best(world: World, called: Float32Array) -> FloatArray:
    """Expected J of each function over the counted minutes, (n,), by the best sets that forecasts and mix allow."""
    costs, _ = priced(world, foretold(world, called), np.zeros_like(world.conditions.room_gb))
    return costs


def never_two(world: World) -> NDArray[np.bool_]:
    """Functions that need at most one instance all day, (n,)."""
    most = np.zeros(world.functions.size, np.int64)
    np.maximum.at(most, world.hits.row, world.hits.need)
    return most <= 1
