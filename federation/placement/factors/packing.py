"""Factors of packing: what the placement does to the value of the node that would take an instance."""

from __future__ import annotations

import numpy as np

from federation.placement.filters.case import Case
from federation.placement.packing.changes import Changes
from federation.snapshot import GPU_WHOLE
from prewarm.domain import FloatArray

NEUTRAL = 0.5
"""Value of both factors while no mix of work is forecast, and where nothing changes."""
_STEEPEST = 50.0


def fragmentation(case: Case) -> FloatArray:
    """1 / (1 + exp(dF / 1000)) for the smallest rise dF of the fragment (thousandths of a GPU) over nodes that fit.

    F: FGD, ATC'23, eq. 2-4. 1/2 where a node is left as useful as it was; 0 where nothing fits; 1/2 without a mix.
    """
    return _logistic(_best(case, case.terms.fragmentation), size=len(case.fleet))


def future_fill(case: Case) -> FloatArray:
    """1 / (1 + exp(-G / 1000)) for the largest gain G over nodes that fit: V(after) + demand - V(before).

    V: thousandths of GPUs that a node would still take of the forecast mix. 1/2 where the instance takes exactly what
    others lose; 0 where nothing fits; 1/2 without a mix.
    """
    return _logistic(_best(case, case.terms.future_fill), size=len(case.fleet))


def _best(case: Case, changes: Changes | None) -> FloatArray | None:
    """The best gain over the nodes of each cluster that take an instance, (C,); -inf where none does; None unknown."""
    return None if changes is None else changes.best(case.fleet, case.workload, case.room > 0, case.taking)


def _logistic(gain: FloatArray | None, *, size: int) -> FloatArray:
    if gain is None:
        return np.full(size, NEUTRAL)
    bounded = np.maximum(np.minimum(gain / GPU_WHOLE, _STEEPEST), -_STEEPEST)
    value: FloatArray = np.where(np.isneginf(gain), 0.0, 1.0 / (1.0 + np.exp(-bounded)))
    return value
