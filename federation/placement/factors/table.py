"""All factors in the order of `scorer.FACTORS`, as one array."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from federation.placement.factors import closeness, packing, space, standing
from federation.placement.filters.case import Case
from federation.placement.scorer import FACTORS
from prewarm.domain import FloatArray

_BY_NAME: dict[str, Callable[[Case], FloatArray]] = {
    "fit": space.fit,
    "fragmentation": packing.fragmentation,
    "future_fill": packing.future_fill,
    "network": closeness.network,
    "warm": standing.warm,
    "price": standing.price,
    "headroom": space.headroom,
    "steadiness": standing.steadiness,
    "risk": standing.risk,
}


def factors_of(case: Case) -> FloatArray:
    """Value in 0..1 of every factor for every cluster, (C, F)."""
    values = np.empty((len(case.fleet), len(FACTORS)))
    for at, name in enumerate(FACTORS):
        values[:, at] = _BY_NAME[name](case)
    return values


def factor_of(case: Case, name: str) -> FloatArray:
    """One of them, (C,)."""
    return _BY_NAME[name](case)
