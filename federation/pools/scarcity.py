"""Prices of scarce room, so that those leave a popular cluster who lose least by it.

Left to itself, every pool asks for the cluster that it likes best, and who comes late there takes what is left.
Prices on memory settle that beforehand: they rise where more is asked than there is and fall back to zero elsewhere,
and a pool that likes two clusters nearly alike goes to the cheaper one. This is the dual of the transport problem of
which a plan is the solution, solved by proportional scaling of a softened choice that is sharpened step by step
(entropic regularisation; Cuturi, NeurIPS 2013, for the inequality form). The plan stays exact whatever the prices are.
"""

from __future__ import annotations

import numpy as np

from federation.pools.question import SeedArray
from prewarm.domain import FloatArray, IntArray

STEPS = 30
SOFT, SHARP = 0.3, 0.03
"""Softness of the choice at the first and the last step, as parts of the range of the values."""
HEAVIEST = 2_000
"""Prices are found with the pools that ask for most; further ones change them little."""


def room_prices(value: FloatArray, memory: IntArray, size: IntArray, *, room: IntArray, seed: SeedArray) -> FloatArray:
    """Price of a unit of memory in each cluster, (c,), in the unit of `value`; zeros where nobody is short.

    value: (m, c), -inf where a pool may not be, at least one finite in each row; memory: (m,) that each asks for in
    all; size: (m,) of one instance; room: (c,) that is free.
    """
    price = np.zeros(value.shape[1])
    wanted = np.bincount(value.argmax(axis=1), weights=memory.astype(np.float64), minlength=len(price))
    finite = value[np.isfinite(value)]
    span = float(np.ptp(finite)) if len(finite) else 0.0
    if (wanted <= room).all() or span <= 0:
        return price
    heavy = np.lexsort((seed, -memory))[:HEAVIEST]
    weight = memory[heavy].astype(np.float64)
    free = np.maximum(room * (weight.sum() / memory.sum()), 1.0)
    typical = float(np.average(size[heavy], weights=weight))
    unit = size[heavy] / typical
    for softness in span * np.geomspace(SOFT, SHARP, STEPS):
        part = value[heavy] - unit[:, None] * price
        part -= part.max(axis=1, keepdims=True)
        np.exp(np.divide(part, softness, out=part), out=part)
        load = (weight / part.sum(axis=1)) @ part
        price = np.maximum(price + softness * np.log(np.maximum(load, 1.0) / free), 0.0)
    # Sums of floats depend on their order in the last bits; rounded, the plan does not.
    return np.round(price, 6) / typical
