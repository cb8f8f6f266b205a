"""Factors of packing: what the placement does to the node that would take it."""

from __future__ import annotations

import numpy as np

from federation.placement.filters.case import Case
from prewarm.domain import FloatArray

NEUTRAL = 0.5


def fragmentation(case: Case) -> FloatArray:
    """1/2 while no mix is known."""
    return np.full(len(case.fleet), NEUTRAL)


def future_fill(case: Case) -> FloatArray:
    """1/2 while no mix is known."""
    return np.full(len(case.fleet), NEUTRAL)
